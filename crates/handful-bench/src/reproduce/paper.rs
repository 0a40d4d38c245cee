//! The figures that the paper prints, in percent, table by table (Hou and Kung, IJCAI 2021).
//!
//! Rows have the keys of our own tables where there is a method of ours to compare; the others are only printed.

/// One printed row: key, the label as printed, and its values; a dash is none.
#[derive(Debug)]
pub struct Printed {
    /// Key of the row.
    pub key: &'static str,
    /// The method as printed.
    pub label: &'static str,
    /// The values, in the order of the columns.
    pub values: &'static [Option<f64>],
}

const fn row(key: &'static str, label: &'static str, values: &'static [Option<f64>]) -> Printed {
    Printed { key, label, values }
}

macro_rules! values {
    (@one -) => { None };
    (@one $value:literal) => { Some($value) };
    ($($value:tt)*) => { &[$(values!(@one $value)),*] };
}

/// Table 1: psi and accuracy on mini-ImageNet, then on tiered-ImageNet.
pub const TABLE1: &[Printed] = &[
    row("random", "Random", values!(0.14 20.00 0.13 20.00)),
    row("cross-entropy", "Pseudo (w/o DM)", values!(0.55 57.73 0.61 68.29)),
    row("dependence", "Pseudo (w/ DM)", values!(0.68 75.80 0.74 82.43)),
    row("truth", "Groundtruth", values!(1.00 100.00 1.00 100.00)),
];

/// The benchmarks of Table 2, in the order of its columns (1-shot and 5-shot each).
pub const BENCHMARKS: [(&str, &str); 4] = [
    ("mini-imagenet", "mini-ImageNet"),
    ("cub", "CUB"),
    ("cifar-fs", "CIFAR-FS"),
    ("tiered-imagenet", "tiered-ImageNet"),
];

/// Table 2. A dagger marks WRN-28-10, as printed.
pub const TABLE2: &[Printed] = &[
    row("in/dsn", "DSN", values!(62.64 78.83 - - 72.30 85.10 66.22 82.79)),
    row("in/feat", "FEAT", values!(66.78 82.05 - - - - 70.80 84.79)),
    row("in/deepemd", "DeepEMD", values!(65.91 82.41 75.65 88.69 - - 71.16 86.03)),
    row("tran/entropy-min", "TransFinetune†", values!(65.73 78.40 - - 76.58 85.79 73.34 85.50)),
    row("tran/laplacianshot", "LaplacianShot†", values!(74.86 84.13 80.96 88.68 - - 80.18 87.56)),
    row("tran/tim-gd", "TIM†", values!(77.80 87.40 82.20 90.80 - - 82.10 89.80)),
    row("tran/sib", "SIB†", values!(70.00 79.20 - - 80.00 85.30 - -)),
    row("tran/epnet", "EPNet†", values!(70.74 84.34 87.75 94.03 - - 78.50 88.36)),
    row("tran/ici", "ICI+LR", values!(66.80 79.26 88.06 92.53 73.97 84.13 80.79 87.92)),
    row("tran/bd-cspn", "BD-CSPN†", values!(70.31 81.89 87.45 91.74 - - 78.74 86.92)),
    row("semi/self-training", "LST", values!(70.10 78.70 - - - - 77.70 85.20)),
    row("semi/tafssl", "ICA+MSP†", values!(80.11 85.78 - - - - 86.00 89.39)),
    row("semi/epnet", "EPNet†", values!(79.22 88.05 - - - - 83.69 89.34)),
    row("semi/ici", "ICI+LR", values!(71.41 81.12 91.11 92.98 78.07 84.76 85.44 89.12)),
    row("tran/dm-ida", "Ours, Tran.", values!(79.17 87.02 92.43 94.77 79.52 86.16 84.10 89.61)),
    row("semi/dm-ida", "Ours, Semi.", values!(82.46 88.17 93.51 95.44 82.16 87.26 87.12 90.54)),
];

/// Table 3: mini-ImageNet to CUB, 1-shot and 5-shot. LaplacianShot's row is cited as another paper there.
pub const TABLE3: &[Printed] = &[
    row("maml", "MAML", values!(-51.34)),
    row("protonet", "ProtoNet", values!(-62.02)),
    row("relationnet", "RelationNet", values!(-57.71)),
    row("baseline", "Finetuning", values!(48.56 65.57)),
    row("laplacianshot", "LaplacianShot", values!(55.46 66.33)),
    row("dm-ida", "Ours (Tran.)", values!(55.79 71.01)),
];

/// Table 4: mini-ImageNet, 10-way 1- and 5-shot, 20-way 1- and 5-shot.
pub const TABLE4: &[Printed] = &[
    row("baseline-pp", "Baseline++", values!(40.43 56.89 26.92 42.80)),
    row("leo", "LEO", values!(45.26 64.36 31.42 50.48)),
    row("metaopt", "MetaOpt", values!(44.83 64.49 31.50 51.25)),
    row("s2m2", "S2M2_R", values!(50.40 70.93 36.50 58.36)),
    row("epnet", "EPNet", values!(53.70 72.17 38.55 59.01)),
    row("bd-cspn", "BD-CSPN", values!(51.58 69.35 36.00 55.23)),
    row("dm-ida", "Ours (Tran.)", values!(60.05 75.93 41.47 61.91)),
];

/// Table 5: mini-ImageNet 1- and 5-shot, tiered-ImageNet 1- and 5-shot.
pub const TABLE5: &[Printed] = &[
    row("cross-entropy", "Baseline", values!(57.73 78.17 68.29 85.31)),
    row("conditional-entropy", "Cond. Ent.", values!(65.73 78.40 73.34 85.50)),
    row("mutual-information", "Mul. Info.", values!(71.54 83.92 77.02 87.57)),
    row("dependence", "DM (Ours)", values!(75.80 85.26 82.42 89.12)),
];

/// Table 6: mini-ImageNet, ResNet-12; transductive 1- and 5-shot, semi-supervised 1- and 5-shot.
pub const TABLE6: &[Printed] = &[
    row("none", "Baseline", values!(56.06 75.43 56.06 75.43)),
    row("random", "rand.", values!(59.01 76.38 59.46 76.58)),
    row("nearest", "nn.", values!(63.24 77.63 63.10 77.75)),
    row("confidence", "confid.", values!(63.29 77.92 63.57 77.71)),
    row("ici", "ICI", values!(65.32 78.30 64.60 77.96)),
    row("ida", "IDA (Ours)", values!(67.17 80.00 67.36 80.18)),
];

/// The printed row of a key.
pub fn find(table: &'static [Printed], key: &str) -> Option<&'static Printed> {
    table.iter().find(|printed| printed.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_value_for_each_column_and_every_key_is_its_own() {
        let tables = [(TABLE1, 4), (TABLE2, 8), (TABLE3, 2), (TABLE4, 4), (TABLE5, 4), (TABLE6, 4)];
        for (table, columns) in tables {
            for (at, printed) in table.iter().enumerate() {
                assert_eq!(printed.values.len(), columns, "{}", printed.key);
                assert!(table[..at].iter().all(|other| other.key != printed.key), "{}", printed.key);
                let percent = |value: &f64| (0.1..=100.0).contains(value);
                assert!(printed.values.iter().flatten().all(percent), "{}", printed.key);
            }
        }
    }

    #[test]
    fn the_papers_own_method_leads_each_of_its_ablations() {
        for (table, ours) in [(TABLE5, "dependence"), (TABLE6, "ida"), (TABLE4, "dm-ida")] {
            let best = find(table, ours).expect("a row of its own");
            for printed in table.iter().filter(|printed| printed.key != ours) {
                for (other, own) in printed.values.iter().zip(best.values) {
                    assert!(other < own, "{}", printed.key);
                }
            }
        }
    }
}
