//! Datasets from tiny copies of the files people have, and the real ones where they are present.

mod common;

use std::path::{Path, PathBuf};

use handful_data::datasets::{DatasetKind, ImageDataset, Part, open_dataset};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn open(path: &Path, part: Part) -> ImageDataset {
    open_dataset(path, None, Some(part)).unwrap_or_else(|error| panic!("{error}"))
}

fn error_of(path: &Path, part: Option<Part>) -> String {
    match open_dataset(path, None, part) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

/// Image `row` of the tiny datasets is 2 x 2 pixels of grey level `40 * row`.
fn check_tiny(dataset: &ImageDataset, kind: DatasetKind, classes: [&str; 3]) {
    assert_eq!((dataset.kind(), dataset.len()), (kind, 6));
    assert_eq!(dataset.classes().names(), classes);
    for image in 0..6 {
        let loaded = dataset.load(image).unwrap();
        assert_eq!((loaded.width, loaded.height), (2, 2));
        assert!(loaded.pixels.iter().all(|&level| usize::from(level) == 40 * image), "image {image}");
        assert_eq!(dataset.classes().class_of_row(image), Some(image / 2));
    }
    assert!(dataset.load(6).is_err());
}

#[test]
fn mini_and_tiered_pickles() {
    let mini = ["n01", "n02", "n03"];
    check_tiny(&open(&fixture("datasets/mini-cache"), Part::Novel), DatasetKind::MiniImageNet, mini);
    let category = open(&fixture("datasets/mini-category"), Part::Novel);
    check_tiny(&category, DatasetKind::MiniImageNet, ["64", "65", "66"]);
    let tiered = open(&fixture("datasets/tiered"), Part::Novel);
    check_tiny(&tiered, DatasetKind::TieredImageNet, ["lion", "tiger", "wolf"]);
}

#[test]
fn cifar_python_version() {
    let path = fixture("datasets/cifar-100-python.tar.gz");
    for (part, classes) in [(Part::Base, 64), (Part::Validation, 16), (Part::Novel, 20)] {
        let dataset = open(&path, part);
        assert_eq!(
            (dataset.kind(), dataset.len(), dataset.classes().len()),
            (DatasetKind::CifarFs, 3 * classes, classes)
        );
    }
    // Record r of class c is all c: `baby` is class 2.
    let novel = open(&path, Part::Novel);
    assert_eq!((novel.classes().names()[0].as_str(), novel.id(0)), ("baby", "train/2"));
    assert!(novel.load(0).unwrap().pixels.iter().all(|&level| level == 2));
}

#[test]
fn omniglot_zip() {
    let dataset = open(&fixture("datasets/omniglot"), Part::Base);
    assert_eq!(dataset.classes().names(), ["Greek/character01", "Greek/character02", "Latin/character01"]);
    assert_eq!((dataset.len(), dataset.load(5).unwrap().pixels[0]), (6, 9));
    assert!(error_of(&fixture("datasets/omniglot"), Some(Part::Validation)).contains("no validation part"));
    assert!(
        error_of(&fixture("datasets/omniglot"), Some(Part::Novel))
            .contains("neither `images_evaluation.zip`")
    );
}

/// A PNG of the fixtures, for datasets that are made here.
fn a_png() -> Vec<u8> {
    let zip = std::fs::File::open(fixture("datasets/omniglot/images_background.zip")).unwrap();
    let mut zip = zip::ZipArchive::new(zip).unwrap();
    let mut bytes = Vec::new();
    std::io::copy(&mut zip.by_index(0).unwrap(), &mut bytes).unwrap();
    bytes
}

#[test]
fn folders_and_lists() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (part, class) in
        [("train", "ant"), ("train", "bee"), ("val", "cat"), ("test", "dog"), ("test", "elk")]
    {
        std::fs::create_dir_all(root.join(part).join(class)).unwrap();
        for image in 0..2 {
            std::fs::write(root.join(part).join(class).join(format!("{image}.png")), a_png()).unwrap();
        }
        std::fs::write(root.join(part).join(class).join("notes.txt"), "not an image").unwrap();
    }
    let base = open(root, Part::Base);
    assert_eq!((base.kind(), base.len(), base.id(3)), (DatasetKind::Folder, 4, "train/bee/1.png"));
    assert_eq!(open_dataset(root, None, None).unwrap().len(), 10);
    assert_eq!(open_dataset(&root.join("test"), None, None).unwrap().classes().names(), ["dog", "elk"]);

    // CloserLook's json, with classes in the order of the list.
    std::fs::write(
        root.join("novel.json"),
        r#"{"label_names":["z","a"],"image_names":["test/dog/0.png","train/ant/0.png"],"image_labels":[0,1]}"#,
    )
    .unwrap();
    let listed = open_dataset(&root.join("novel.json"), None, None).unwrap();
    assert_eq!(
        (listed.classes().names(), listed.load(1).unwrap().width),
        (["z".to_owned(), "a".to_owned()].as_slice(), 2)
    );
    // easyfsl's json.
    std::fs::write(root.join("base.json"), r#"{"class_names":["Z"],"class_roots":["train/bee"]}"#).unwrap();
    assert_eq!(open_dataset(root, Some(DatasetKind::Lists), Some(Part::Base)).unwrap().len(), 2);
    // csv; a class in two parts is refused by name.
    std::fs::write(root.join("val.csv"), "filename,label\ntest/dog/0.png,z\n").unwrap();
    let error = open_dataset(root, Some(DatasetKind::Lists), Some(Part::Base)).unwrap_err().to_string();
    assert!(error.contains("class `z` is in both the validation and the novel part"), "{error}");
    std::fs::write(root.join("val.csv"), "a,b\n").unwrap();
    assert!(error_of(&root.join("val.csv"), None).contains("line 1: the header must be `filename,label`"));
    // The same class folder in two parts.
    std::fs::create_dir_all(root.join("val/ant")).unwrap();
    let error = open_dataset(root, Some(DatasetKind::Folder), Some(Part::Novel)).unwrap_err().to_string();
    assert!(error.contains("class `ant` is in both the base and the validation part"), "{error}");
}

#[test]
fn cub_folders_are_split_by_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    for class in 0..200 {
        let name = if class == 0 {
            "001.Black_footed_Albatross".to_owned()
        } else {
            format!("{:03}.Bird", class + 1)
        };
        let path = folder.path().join("images").join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("1.png"), a_png()).unwrap();
    }
    let names = |part| open(folder.path(), part).classes().names()[..2].to_vec();
    assert_eq!(names(Part::Base), ["001.Black_footed_Albatross", "003.Bird"]);
    assert_eq!(names(Part::Validation), ["002.Bird", "006.Bird"]);
    assert_eq!(names(Part::Novel), ["004.Bird", "008.Bird"]);
    assert_eq!(open(folder.path(), Part::Base).len(), 100);
    std::fs::remove_dir_all(folder.path().join("images/200.Bird")).unwrap();
    assert!(error_of(folder.path(), Some(Part::Base)).contains("199 classes instead of 200"));
}

#[test]
fn hostile_and_broken_archives() {
    let error = open_dataset(&fixture("bad/traversal.tar"), Some(DatasetKind::CifarFs), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("`../escaped.bin` points outside the archive"), "{error}");
    let error = open_dataset(&fixture("bad/traversal.zip"), Some(DatasetKind::Omniglot), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("points outside the archive"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixture("datasets/cifar-100-python.tar.gz")).unwrap();
    let cut = folder.path().join("cifar-100-cut.tar.gz");
    for length in [0, 10, whole.len() / 2, whole.len() - 9] {
        std::fs::write(&cut, &whole[..length]).unwrap();
        let error = error_of(&cut, None);
        assert!(error.contains("cifar-100-cut.tar.gz"), "{length}: {error}");
    }
    std::fs::write(folder.path().join("train.bin"), [0; 100]).unwrap();
    std::fs::write(folder.path().join("test.bin"), [0; 3074]).unwrap();
    let names: Vec<String> = (0..100).map(|class| format!("c{class}")).collect();
    std::fs::write(folder.path().join("fine_label_names.txt"), names.join("\n")).unwrap();
    assert!(
        error_of(folder.path(), None).contains("`train.bin` has 100 bytes, which is not a multiple of 3074")
    );
    assert!(error_of(&folder.path().join("absent"), None).contains("absent"));
}

#[test]
fn real_cifar_fs_and_fc100() {
    let Some(archive) = common::shared_data("cifar-100-binary.tar.xz") else { return };
    let all = open_dataset(&archive, None, None).unwrap();
    assert_eq!((all.kind(), all.len(), all.classes().len()), (DatasetKind::CifarFs, 60_000, 100));
    let folder = tempfile::tempdir().unwrap();
    let unpacked = lzma_rust2::XzReader::new(std::fs::File::open(&archive).unwrap(), true);
    tar::Archive::new(unpacked).unpack(folder.path()).unwrap();
    let path = folder.path().to_owned();
    for (part, images, classes, name) in [
        (Part::Base, 38_400, 64, "apple"),
        (Part::Validation, 9_600, 16, "beaver"),
        (Part::Novel, 12_000, 20, "baby"),
    ] {
        let dataset = open(&path, part);
        assert_eq!((dataset.len(), dataset.classes().len()), (images, classes));
        assert_eq!(dataset.classes().names()[0], name);
        assert!(dataset.classes().rows_of_class().iter().all(|rows| rows.len() == 600));
        assert_eq!(dataset.load(images - 1).unwrap().pixels.len(), 3072);
    }
    let novel = open_dataset(&path, Some(DatasetKind::Fc100), Some(Part::Novel)).unwrap();
    assert_eq!((novel.len(), novel.classes().len()), (12_000, 20));
    assert!(novel.classes().names().contains(&"dolphin".to_owned()));
}

#[test]
fn cub_archive_has_the_images_of_the_canonical_split() {
    let Some(archive) = common::shared_data("CUB_200_2011.88px.tar") else { return };
    for (part, classes, images) in
        [(Part::Base, 100, 5_885), (Part::Validation, 50, 2_950), (Part::Novel, 50, 2_953)]
    {
        let dataset = open(&archive, part);
        assert_eq!(
            (dataset.kind(), dataset.classes().len(), dataset.len()),
            (DatasetKind::Cub, classes, images)
        );
        let image = dataset.load(images - 1).expect("a photograph");
        assert_eq!(image.width.min(image.height), 88, "{part:?}");
    }
}

#[test]
fn real_omniglot() {
    let Some(path) = common::shared_data("omniglot") else { return };
    for (part, characters) in [(Part::Base, 964), (Part::Novel, 659)] {
        let dataset = open(&path, part);
        assert_eq!(
            (dataset.kind(), dataset.classes().len(), dataset.len()),
            (DatasetKind::Omniglot, characters, 20 * characters)
        );
        assert_eq!(dataset.load(7).unwrap().width, 105);
    }
}

/// 28 MiB of gzip that unpack to 28 GiB of zeros, behind the header of a file that long.
fn bomb(path: &Path, member: &str) {
    use std::io::Write;
    let packed = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let mut header = tar::Header::new_gnu();
    header.set_path(member).unwrap();
    header.set_size(28 << 30);
    header.set_cksum();
    let mut bytes = packed(header.as_bytes());
    let zeros = packed(&vec![0; 32 << 20]);
    while bytes.len() < 28 << 20 {
        bytes.extend_from_slice(&zeros);
    }
    std::fs::write(path, &bytes).unwrap();
}

#[test]
fn bombs_are_refused_whether_the_member_is_wanted_or_not() {
    let folder = tempfile::tempdir().unwrap();
    for member in ["cifar-100-python/train", "unwanted.bin"] {
        let path = folder.path().join("cifar-100-bomb.tar.gz");
        bomb(&path, member);
        let error = open_dataset(&path, Some(DatasetKind::CifarFs), None).unwrap_err();
        let handful_data::DataError::Limit { limit, .. } = error else { panic!("{member}: {error}") };
        assert!(limit < 340 << 20, "{member}: {limit}");
    }
}

/// Image `row` of the shards is 2 x 2 pixels of grey level `40 * row` and of class `row % 3`.
fn check_shards(path: &Path, kind: DatasetKind, classes: [&str; 3], ids: [&str; 2]) {
    let dataset = open_dataset(path, None, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((dataset.kind(), dataset.len()), (kind, 6));
    assert_eq!(dataset.classes().names(), classes);
    assert_eq!([dataset.id(0), dataset.id(5)], ids);
    for image in 0..6 {
        assert_eq!(dataset.classes().class_of_row(image), Some(image % 3));
        let loaded = dataset.load(image).unwrap();
        assert_eq!((loaded.width, loaded.height), (2, 2));
        assert!(loaded.pixels.iter().all(|&level| usize::from(level) == 40 * image), "image {image}");
    }
    let error = open_dataset(path, None, Some(Part::Novel)).unwrap_err().to_string();
    assert!(error.contains("shards have no novel part"), "{error}");
}

#[test]
fn shards_of_images_are_datasets() {
    let (parquet, tar) = (fixture("shards/hugging-face.parquet"), fixture("shards/webdataset.tar"));
    #[cfg(feature = "tables")]
    check_shards(&parquet, DatasetKind::ParquetImages, ["ant", "bee", "cat"], ["0.png", "5.png"]);
    check_shards(&tar, DatasetKind::WebDataset, ["0", "1", "2"], ["sample000.png", "sample005.png"]);
    let folder = tempfile::tempdir().unwrap();
    for name in ["00.tar", "01.tar"] {
        std::fs::copy(&tar, folder.path().join(name)).unwrap();
    }
    let both = open_dataset(folder.path(), None, None).unwrap();
    assert_eq!((both.len(), both.classes().len(), both.id(6)), (12, 3, "6/sample000.png"));
    // Cut anywhere, a shard is refused, not shortened; a tar's padding of zeros may be missing.
    let cut = folder.path().join("cut.parquet");
    let whole = std::fs::read(&parquet).unwrap();
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&cut, &whole[..length]).unwrap();
        assert!(open_dataset(&cut, Some(DatasetKind::ParquetImages), None).is_err(), "{length}");
    }
}
