//! Which layer of an ONNX graph the features are taken from, and the graph cut off behind it.

use std::collections::HashSet;

use rten_onnx::onnx::{GraphProto, NodeProto, ValueInfoProto};

/// The value that a network's features are: the one asked for, else what its last pooling gives.
///
/// # Errors
/// A sentence that says what is missing and what could be asked for instead.
pub(super) fn choose(graph: &GraphProto, asked: Option<&str>) -> Result<String, String> {
    match asked {
        Some(name) => find(graph, name),
        None => last_pooled(graph).ok_or_else(|| {
            format!("it has no pooled layer; name the layer of its features with --layer, as {}", some(graph))
        }),
    }
}

/// A value by its own name, or by the name of the node that makes it.
fn find(graph: &GraphProto, name: &str) -> Result<String, String> {
    let made = |node: &&NodeProto| {
        node.name.as_deref() == Some(name) || node.output.iter().any(|output| output == name)
    };
    match graph.node.iter().find(made) {
        Some(node) if node.output.iter().any(|output| output == name) => Ok(name.to_owned()),
        Some(NodeProto { output, .. }) if !output.is_empty() => Ok(output[0].clone()),
        _ => Err(format!("it has no layer `{name}`; near its end are {}", some(graph))),
    }
}

/// What the last node that pools over the whole image gives. Nodes of a graph stand in the order of computation.
fn last_pooled(graph: &GraphProto) -> Option<String> {
    let node = graph.node.iter().rev().find(|node| pools(graph, node))?;
    node.output.first().cloned()
}

fn pools(graph: &GraphProto, node: &NodeProto) -> bool {
    match node.op_type.as_deref() {
        Some("GlobalAveragePool" | "GlobalMaxPool" | "AveragePool") => true,
        // A mean over rows and columns; the means inside a normalisation are over one axis, the last.
        Some("ReduceMean") => axes(graph, node).is_some_and(|mut axes| {
            axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += 4);
            axes.sort_unstable();
            axes == [2, 3] || axes == [1, 2]
        }),
        _ => false,
    }
}

/// The axes of a reduction: an attribute, or since operator set 18 a constant input.
fn axes(graph: &GraphProto, node: &NodeProto) -> Option<Vec<i64>> {
    let attribute = node.attribute.iter().find(|attribute| attribute.name.as_deref() == Some("axes"));
    if let Some(attribute) = attribute {
        return Some(attribute.ints.clone());
    }
    let name = node.input.get(1)?;
    let constant = graph.node.iter().find(|node| node.output.contains(name)).and_then(|node| {
        node.attribute.iter().find(|attribute| attribute.name.as_deref() == Some("value"))?.t.as_ref()
    });
    let tensor =
        constant.or_else(|| graph.initializer.iter().find(|tensor| tensor.name.as_ref() == Some(name)))?;
    if !tensor.int64_data.is_empty() {
        return Some(tensor.int64_data.clone());
    }
    let bytes = tensor.raw_data.as_ref()?.borrow();
    Some(bytes.as_chunks::<8>().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect())
}

/// A few names a person could ask for: the last values that are computed.
fn some(graph: &GraphProto) -> String {
    let names: Vec<&str> =
        graph.node.iter().rev().flat_map(|node| &node.output).map(String::as_str).take(4).collect();
    if names.is_empty() { "nothing: it is empty".to_owned() } else { names.join(", ") }
}

/// Makes `layer` the graph's only output and takes away what only served others: a classifier behind the features may
/// hold most of the weights, and may need operators that nobody else needs.
pub(super) fn cut_behind(graph: &mut GraphProto, layer: &str) {
    let mut needed = HashSet::from([layer.to_owned()]);
    let mut kept: Vec<NodeProto> = Vec::new();
    for node in std::mem::take(&mut graph.node).into_iter().rev() {
        if node.output.iter().any(|output| needed.contains(output)) {
            needed.extend(node.input.iter().cloned());
            // What a loop or a branch inside the node reads from outside is named only in its own graph.
            let inner = node.attribute.iter().filter_map(|attribute| attribute.g.as_ref());
            needed.extend(inner.flat_map(read_inside));
            kept.push(node);
        }
    }
    kept.reverse();
    graph.node = kept;
    let held = |name: &Option<String>| name.as_ref().is_some_and(|name| needed.contains(name));
    graph.initializer.retain(|tensor| held(&tensor.name));
    // Files of before 2019 list their weights among the inputs.
    let weights: HashSet<&String> =
        graph.initializer.iter().filter_map(|tensor| tensor.name.as_ref()).collect();
    graph
        .input
        .retain(|input| held(&input.name) && !input.name.as_ref().is_some_and(|name| weights.contains(name)));
    graph.output = vec![ValueInfoProto { name: Some(layer.to_owned()), r#type: None }];
}

fn read_inside(graph: &GraphProto) -> Vec<String> {
    let mut names: Vec<String> = graph.node.iter().flat_map(|node| node.input.iter().cloned()).collect();
    names.extend(graph.output.iter().filter_map(|output| output.name.clone()));
    let inner =
        graph.node.iter().flat_map(|node| &node.attribute).filter_map(|attribute| attribute.g.as_ref());
    names.extend(inner.flat_map(read_inside));
    names
}
