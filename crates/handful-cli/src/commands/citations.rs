//! Whom to cite for a method: one entry of BibTeX each, on one line.

/// The entries, by the method's name; the first is the method's own.
const CITATIONS: &[(&[&str], &str)] = &[
    (
        &["dm", "dm-ida", "baseline"],
        "@inproceedings{hou2021fewshot, author={Hou, Zejiang and Kung, Sun-Yuan}, title={Few-shot Learning via Dependency \
         Maximization and Instance Discriminant Analysis}, booktitle={IJCAI}, year={2021}}",
    ),
    (
        &["dm", "dm-ida"],
        "@article{hou2022semi, author={Hou, Zejiang and Kung, Sun-Yuan}, title={Semi-Supervised Few-Shot Learning Via \
         Dependency Maximization and Instance Discriminant Analysis}, journal={Journal of Signal Processing Systems}, \
         year={2022}}",
    ),
    (
        &["protonet"],
        "@inproceedings{snell2017prototypical, author={Snell, Jake and Swersky, Kevin and Zemel, Richard}, \
         title={Prototypical Networks for Few-shot Learning}, booktitle={NeurIPS}, year={2017}}",
    ),
    (
        &["simpleshot"],
        "@article{wang2019simpleshot, author={Wang, Yan and Chao, Wei-Lun and Weinberger, Kilian Q. and van der Maaten, \
         Laurens}, title={SimpleShot: Revisiting Nearest-Neighbor Classification for Few-Shot Learning}, journal={arXiv \
         preprint arXiv:1911.04623}, year={2019}}",
    ),
    (
        &["matching"],
        "@inproceedings{vinyals2016matching, author={Vinyals, Oriol and Blundell, Charles and Lillicrap, Timothy and \
         Kavukcuoglu, Koray and Wierstra, Daan}, title={Matching Networks for One Shot Learning}, booktitle={NeurIPS}, \
         year={2016}}",
    ),
    (
        &["baseline-pp"],
        "@inproceedings{chen2019closer, author={Chen, Wei-Yu and Liu, Yen-Cheng and Kira, Zsolt and Wang, Yu-Chiang Frank \
         and Huang, Jia-Bin}, title={A Closer Look at Few-shot Classification}, booktitle={ICLR}, year={2019}}",
    ),
    (
        &["ridge"],
        "@inproceedings{bertinetto2019meta, author={Bertinetto, Luca and Henriques, Jo{\\~a}o F. and Torr, Philip H. S. \
         and Vedaldi, Andrea}, title={Meta-learning with Differentiable Closed-form Solvers}, booktitle={ICLR}, \
         year={2019}}",
    ),
    (
        &["svm"],
        "@inproceedings{lee2019meta, author={Lee, Kwonjoon and Maji, Subhransu and Ravichandran, Avinash and Soatto, \
         Stefano}, title={Meta-Learning with Differentiable Convex Optimization}, booktitle={CVPR}, year={2019}}",
    ),
    (
        &["dsn"],
        "@inproceedings{simon2020adaptive, author={Simon, Christian and Koniusz, Piotr and Nock, Richard and Harandi, \
         Mehrtash}, title={Adaptive Subspaces for Few-Shot Learning}, booktitle={CVPR}, year={2020}}",
    ),
    (
        &["deepemd"],
        "@inproceedings{zhang2020deepemd, author={Zhang, Chi and Cai, Yujun and Lin, Guosheng and Shen, Chunhua}, \
         title={DeepEMD: Few-Shot Image Classification with Differentiable Earth Mover's Distance and Structured \
         Classifiers}, booktitle={CVPR}, year={2020}}",
    ),
    (
        &["entropy-min"],
        "@inproceedings{dhillon2020baseline, author={Dhillon, Guneet S. and Chaudhari, Pratik and Ravichandran, Avinash \
         and Soatto, Stefano}, title={A Baseline for Few-Shot Image Classification}, booktitle={ICLR}, year={2020}}",
    ),
    (
        &["tim-gd", "tim-adm"],
        "@inproceedings{boudiaf2020transductive, author={Boudiaf, Malik and Ziko, Imtiaz Masud and Rony, J{\\'e}r{\\^o}me \
         and Dolz, Jose and Piantanida, Pablo and Ben Ayed, Ismail}, title={Transductive Information Maximization for \
         Few-Shot Learning}, booktitle={NeurIPS}, year={2020}}",
    ),
    (
        &["alpha-tim"],
        "@inproceedings{veilleux2021realistic, author={Veilleux, Olivier and Boudiaf, Malik and Piantanida, Pablo and Ben \
         Ayed, Ismail}, title={Realistic Evaluation of Transductive Few-Shot Learning}, booktitle={NeurIPS}, year={2021}}",
    ),
    (
        &["bd-cspn"],
        "@inproceedings{liu2020prototype, author={Liu, Jinlu and Song, Liang and Qin, Yongqiang}, title={Prototype \
         Rectification for Few-Shot Learning}, booktitle={ECCV}, year={2020}}",
    ),
    (
        &["laplacianshot"],
        "@inproceedings{ziko2020laplacian, author={Ziko, Imtiaz Masud and Dolz, Jose and Granger, Eric and Ben Ayed, \
         Ismail}, title={Laplacian Regularized Few-Shot Learning}, booktitle={ICML}, year={2020}}",
    ),
    (
        &["epnet"],
        "@inproceedings{rodriguez2020embedding, author={Rodr{\\'i}guez, Pau and Laradji, Issam and Drouin, Alexandre and \
         Lacoste, Alexandre}, title={Embedding Propagation: Smoother Manifold for Few-Shot Classification}, \
         booktitle={ECCV}, year={2020}}",
    ),
    (
        &["pt-map"],
        "@article{hu2020leveraging, author={Hu, Yuqing and Gripon, Vincent and Pateux, St{\\'e}phane}, title={Leveraging \
         the Feature Distribution in Transfer-based Few-Shot Learning}, journal={arXiv preprint arXiv:2006.03806}, \
         year={2020}}",
    ),
    (
        &["ilpc"],
        "@inproceedings{lazarou2021iterative, author={Lazarou, Michalis and Stathaki, Tania and Avrithis, Yannis}, \
         title={Iterative Label Cleaning for Transductive and Semi-Supervised Few-Shot Learning}, booktitle={ICCV}, \
         year={2021}}",
    ),
    (
        &["ease"],
        "@inproceedings{zhu2022ease, author={Zhu, Hao and Koniusz, Piotr}, title={EASE: Unsupervised Discriminant \
         Subspace Learning for Transductive Few-Shot Learning}, booktitle={CVPR}, year={2022}}",
    ),
    (
        &["protolp"],
        "@inproceedings{zhu2023transductive, author={Zhu, Hao and Koniusz, Piotr}, title={Transductive Few-Shot Learning \
         with Prototype-based Label Propagation by Iterative Graph Refinement}, booktitle={CVPR}, year={2023}}",
    ),
    (
        &["tafssl"],
        "@inproceedings{lichtenstein2020tafssl, author={Lichtenstein, Moshe and Sattigeri, Prasanna and Feris, Rogerio and \
         Giryes, Raja and Karlinsky, Leonid}, title={TAFSSL: Task-Adaptive Feature Sub-Space Learning for Few-Shot \
         Classification}, booktitle={ECCV}, year={2020}}",
    ),
    (
        &["paddle"],
        "@inproceedings{martin2022towards, author={Martin, S{\\'e}gol{\\`e}ne and Boudiaf, Malik and Chouzenoux, Emilie and \
         Pesquet, Jean-Christophe and Ben Ayed, Ismail}, title={Towards Practical Few-shot Query Sets: Transductive Minimum \
         Description Length Inference}, booktitle={NeurIPS}, year={2022}}",
    ),
    (
        &["unem"],
        "@article{zhou2024unem, author={Zhou, Long and others}, title={UNEM: UNrolled Generalized EM for Transductive \
         Few-Shot Learning}, journal={arXiv preprint}, year={2024}}",
    ),
    (
        &["oslo"],
        "@inproceedings{boudiaf2023open, author={Boudiaf, Malik and Bennequin, Etienne and Tami, Myriam and Toubhans, \
         Antoine and Piantanida, Pablo and Hudelot, C{\\'e}line and Ben Ayed, Ismail}, title={Open-Set Likelihood \
         Maximization for Few-Shot Learning}, booktitle={CVPR}, year={2023}}",
    ),
    (
        &["bavardage"],
        "@article{hu2022adaptive, author={Hu, Yuqing and Pateux, St{\\'e}phane and Gripon, Vincent}, title={Adaptive \
         Dimension Reduction and Variational Inference for Transductive Few-Shot Classification}, journal={arXiv \
         preprint}, year={2022}}",
    ),
    (
        &["bms"],
        "@article{hu2022squeezing, author={Hu, Yuqing and Pateux, St{\\'e}phane and Gripon, Vincent}, title={Squeezing \
         Backbone Feature Distributions to the Max for Efficient Few-Shot Learning}, journal={Algorithms}, year={2022}}",
    ),
    (
        &["bpa"],
        "@inproceedings{shalam2024balanced, author={Shalam, Daniel and Korman, Simon}, title={The Balanced-Pairwise-\
         Affinities Feature Transform}, booktitle={ICML}, year={2024}}",
    ),
    (
        &["nohub"],
        "@inproceedings{trosten2023hubs, author={Trosten, Daniel J. and Chakraborty, Rwiddhi and L{\\o}kse, Sigurd and \
         Wickstr{\\o}m, Kristoffer Knutsen and Jenssen, Robert and Kampffmeyer, Michael C.}, title={Hubs and Hyperspheres: \
         Reducing Hubness and Improving Transductive Few-Shot Learning with Hyperspherical Embeddings}, booktitle={CVPR}, \
         year={2023}}",
    ),
    (
        &["am"],
        "@inproceedings{lazarou2024adaptive, author={Lazarou, Michalis and Avrithis, Yannis and Stathaki, Tania}, title={Adaptive \
         Manifold for Imbalanced Transductive Few-Shot Learning}, booktitle={WACV}, year={2024}}",
    ),
    (
        &["stata"],
        "@inproceedings{zanella2025realistic, author={Zanella, Maxime and Fuchs, Cl{\\'e}ment and De Vleeschouwer, \
         Christophe and Ben Ayed, Ismail}, title={Realistic Test-Time Adaptation of Vision-Language Models}, \
         booktitle={CVPR}, year={2025}}",
    ),
    (
        &["poisson"],
        "@inproceedings{calder2020poisson, author={Calder, Jeff and Cook, Brendan and Thorpe, Matthew and Slep{\\v{c}}ev, \
         Dejan}, title={Poisson Learning: Graph Based Semi-Supervised Learning at Very Low Label Rates}, \
         booktitle={ICML}, year={2020}}",
    ),
    (
        &["laplace"],
        "@inproceedings{zhu2003semi, author={Zhu, Xiaojin and Ghahramani, Zoubin and Lafferty, John}, title={Semi-Supervised \
         Learning Using Gaussian Fields and Harmonic Functions}, booktitle={ICML}, year={2003}}",
    ),
    (
        &["label-spreading"],
        "@inproceedings{zhou2004learning, author={Zhou, Dengyong and Bousquet, Olivier and Lal, Thomas Navin and Weston, \
         Jason and Sch{\\\"o}lkopf, Bernhard}, title={Learning with Local and Global Consistency}, booktitle={NeurIPS}, \
         year={2004}}",
    ),
    (
        &["ici", "logistic"],
        "@inproceedings{wang2020instance, author={Wang, Yikai and Xu, Chengming and Liu, Chen and Zhang, Li and Fu, Yanwei}, \
         title={Instance Credibility Inference for Few-Shot Learning}, booktitle={CVPR}, year={2020}}",
    ),
    (
        &["soft-kmeans"],
        "@inproceedings{ren2018meta, author={Ren, Mengye and Triantafillou, Eleni and Ravi, Sachin and Snell, Jake and \
         Swersky, Kevin and Tenenbaum, Joshua B. and Larochelle, Hugo and Zemel, Richard S.}, title={Meta-Learning for \
         Semi-Supervised Few-Shot Classification}, booktitle={ICLR}, year={2018}}",
    ),
    (
        &["self-training"],
        "@inproceedings{li2019learning, author={Li, Xinzhe and Sun, Qianru and Liu, Yaoyao and Zhou, Qin and Zheng, Shibao \
         and Chua, Tat-Seng and Schiele, Bernt}, title={Learning to Self-Train for Semi-Supervised Few-Shot \
         Classification}, booktitle={NeurIPS}, year={2019}}",
    ),
];

/// Whom to cite for a method.
pub fn of(method: &str) -> impl Iterator<Item = &'static str> {
    CITATIONS.iter().filter(move |(methods, _)| methods.contains(&method)).map(|(_, entry)| *entry)
}

#[cfg(test)]
mod tests {
    use handful::methods::METHODS;

    use super::*;

    #[test]
    fn every_method_has_an_entry_and_every_entry_a_method() {
        for entry in METHODS {
            assert!(of(entry.name).next().is_some(), "whom to cite for {}?", entry.name);
        }
        let known = |name: &&str| METHODS.iter().any(|entry| entry.name == *name);
        assert!(CITATIONS.iter().flat_map(|(methods, _)| *methods).all(known));
    }

    #[test]
    fn entries_are_whole() {
        for (_, entry) in CITATIONS {
            let count = |wanted: char| entry.chars().filter(|letter| *letter == wanted).count();
            assert_eq!(count('{'), count('}'), "{entry}");
            for field in ["author={", "title={", "year={"] {
                assert!(entry.contains(field), "{field} in {entry}");
            }
            assert!(!entry.contains("  ") && !entry.contains('\n'), "{entry}");
        }
    }
}
