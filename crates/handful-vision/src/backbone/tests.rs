use super::*;
use crate::device::device;

#[test]
fn features_are_the_means_of_what_is_kept_beside_them() {
    let cpu = device("cpu").expect("always there");
    let open = |wanted: Wanted| Backbone::shipped(wanted, &cpu).expect("whole");
    let (plain, maps) = (Wanted::default(), Wanted { parts: Some(PartKind::Maps), ..Wanted::default() });
    let views = Wanted { parts: Some(PartKind::Views), ..Wanted::default() };
    let [plain, maps, views] = [plain, maps, views].map(open);
    let size = plain.preparation().size;
    let image = |seed: usize| -> Vec<f32> {
        (0..3 * size * size).map(|at| ((at * seed) % 101) as f32 / 50.0 - 1.0).collect()
    };
    let images = [image(7919), image(6007)];
    let features = plain.embed(&images).expect("fits");
    assert_eq!(maps.parts(), Some((PartKind::Maps, 16, 256)));
    for (row, own) in maps.embed(&images).expect("fits").chunks(maps.columns()).zip(features.chunks(256)) {
        let (features, places) = row.split_at(256);
        assert_eq!(features, own);
        for (channel, feature) in features.iter().enumerate() {
            let mean = places.iter().skip(channel).step_by(256).sum::<f32>() / 16.0;
            assert!((mean - feature).abs() < 1e-4, "{channel}: {mean} {feature}");
        }
    }
    let mirrors = images.each_ref().map(|image| mirror(image, size));
    let mirrored = plain.embed(&mirrors).expect("fits");
    assert_eq!(views.parts(), Some((PartKind::Views, 2, 256)));
    let rows = views.embed(&images).expect("fits");
    for (row, (own, other)) in
        rows.chunks(views.columns()).zip(features.chunks(256).zip(mirrored.chunks(256)))
    {
        assert_eq!((&row[256..512], &row[512..]), (own, other));
        assert_eq!(row[3], 0.5 * (own[3] + other[3]));
    }
    assert_ne!(maps.fingerprint(), plain.fingerprint());
    let both = Wanted { mirrored: true, parts: Some(PartKind::Maps), ..Wanted::default() };
    assert!(Backbone::shipped(both, &cpu).expect_err("not both").to_string().contains("--mirror"));
}

#[test]
fn the_table_that_comes_along_is_of_the_network_that_does() {
    let cpu = device("cpu").expect("always there");
    let wanted = Wanted { mirrored: true, ..Wanted::default() };
    let embedder = Backbone::shipped(wanted, &cpu).expect("whole").embedder();
    assert_eq!(embedder, Some(handful_data::shipped::embedder()));
}

#[test]
fn mirrored_features_are_the_mean_of_both_and_those_of_the_mirror_image() {
    let cpu = device("cpu").expect("always there");
    let plain = Backbone::shipped(Wanted::default(), &cpu).expect("whole");
    let both = Backbone::shipped(Wanted { mirrored: true, ..Wanted::default() }, &cpu).expect("whole");
    let size = plain.preparation().size;
    let image: Vec<f32> = (0..3 * size * size).map(|at| ((at * 7919) % 101) as f32 / 50.0 - 1.0).collect();
    let mirrored = mirror(&image, size);
    assert_eq!(mirror(&mirrored, size), image);
    let of =
        |backbone: &Backbone, planes: &Vec<f32>| backbone.embed(std::slice::from_ref(planes)).expect("fits");
    let (own, other) = (of(&plain, &image), of(&plain, &mirrored));
    assert_ne!(own, other);
    let mean: Vec<f32> = own.iter().zip(&other).map(|(a, b)| 0.5 * (a + b)).collect();
    assert_eq!(of(&both, &image), mean);
    assert_eq!(of(&both, &mirrored), mean);
}
