//! The methods by name: the paper's own and its rivals, each a combination of scheme, loss and penalty.

use serde::{Deserialize, Serialize};

use crate::loss::{AnyLoss, PairwiseLogistic, SmoothHinge, Softmax, TopKHinge};
use crate::parameter::Parameters;
use crate::penalty::{AUTO, AnyPenalty, Lasso, PairwiseRidge, Ridge};
use crate::scheme::Scheme;
use crate::spec::Spec;

/// A named combination of scheme, loss and penalty. Every one is trained to its own certified optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The paper's method: smooth hinge on every class pair, distances of class vectors to the power p. With p = 2 it is the
    /// method of Xu et al. (2017), `xu17` in the paper's tables.
    #[default]
    M3svm,
    /// Softmax cross-entropy with the same penalty.
    Ism3,
    /// Logistic loss on every class pair with the same penalty.
    PairwiseLr,
    /// One-vs-rest: c hinge problems of two classes.
    Ovr,
    /// One-vs-one: c(c−1)/2 hinge problems of two classes, and votes.
    Ovo,
    /// Weston and Watkins: hinge on every pair with the true class, ridge.
    Ww,
    /// Crammer and Singer: hinge on the best wrong class, ridge.
    Cs,
    /// Bredensteiner and Bennett's M-SVM: the same hinge, squared distances and squared lengths of class vectors.
    Msvm,
    /// Lapin, Hein and Schiele: hinge on the k best classes, ridge.
    Topk,
    /// Multinomial logistic regression: softmax with ridge.
    Lr,
    /// Sparse multinomial logistic regression: softmax with lasso or elastic net, many weights are exactly zero.
    Smlr,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 11] = [
        Self::M3svm,
        Self::Ism3,
        Self::PairwiseLr,
        Self::Ovr,
        Self::Ovo,
        Self::Ww,
        Self::Cs,
        Self::Msvm,
        Self::Topk,
        Self::Lr,
        Self::Smlr,
    ];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::M3svm => "m3svm",
            Self::Ism3 => "ism3",
            Self::PairwiseLr => "pairwise-lr",
            Self::Ovr => "ovr",
            Self::Ovo => "ovo",
            Self::Ww => "ww",
            Self::Cs => "cs",
            Self::Msvm => "msvm",
            Self::Topk => "topk",
            Self::Lr => "lr",
            Self::Smlr => "smlr",
        }
    }

    /// What it is, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::M3svm => "M³SVM: pairwise hinge, class distances to the power p",
            Self::Ism3 => "ISM3: softmax, class distances to the power p",
            Self::PairwiseLr => "pairwise logistic, class distances to the power p",
            Self::Ovr => "one-vs-rest hinge, ridge",
            Self::Ovo => "one-vs-one hinge, ridge, votes",
            Self::Ww => "Weston-Watkins: pairwise hinge, ridge",
            Self::Cs => "Crammer-Singer: hinge of the best wrong class, ridge",
            Self::Topk => "top-k hinge of the k best classes, ridge",
            Self::Msvm => "Bredensteiner-Bennett M-SVM: pairwise hinge, squared class distances and ridge",
            Self::Lr => "multinomial logistic regression: softmax, ridge",
            Self::Smlr => "sparse multinomial logistic regression: softmax, lasso",
        }
    }

    /// The method with its default settings; λ is to be chosen from the data.
    pub fn spec(self) -> Spec {
        let (hinge, smooth) = (AnyLoss::SmoothHinge(SmoothHinge { delta: 0.0 }), AnyLoss::default());
        let (softmax, distances) = (AnyLoss::Softmax(Softmax {}), AnyPenalty::default().with_lambda(AUTO));
        let top = |k| AnyLoss::TopKHinge(TopKHinge { k, delta: 0.0 });
        let ridge = AnyPenalty::Ridge(Ridge { lambda: AUTO });
        let (scheme, loss, penalty) = match self {
            Self::M3svm => (Scheme::Joint, smooth, distances),
            Self::Ism3 => (Scheme::Joint, softmax, distances),
            Self::PairwiseLr => (Scheme::Joint, AnyLoss::PairwiseLogistic(PairwiseLogistic {}), distances),
            Self::Ovr => (Scheme::OneVsRest, hinge, ridge),
            Self::Ovo => (Scheme::OneVsOne, hinge, ridge),
            Self::Ww => (Scheme::Joint, hinge, ridge),
            Self::Cs => (Scheme::Joint, top(1), ridge),
            Self::Topk => (Scheme::Joint, top(2), ridge),
            Self::Msvm => (Scheme::Joint, hinge, AnyPenalty::PairwiseRidge(PairwiseRidge { lambda: AUTO })),
            Self::Lr => (Scheme::Joint, softmax, ridge),
            Self::Smlr => (Scheme::Joint, softmax, AnyPenalty::Lasso(Lasso { lambda: AUTO })),
        };
        Spec { scheme, loss, penalty, ..Spec::default() }
    }

    /// The method that a spec amounts to, whatever its parameters; `None` for combinations without a name.
    pub fn of(spec: &Spec) -> Option<Self> {
        use std::mem::discriminant;
        // What tells the top-k hinge from that of the best wrong class.
        let is_beyond_best = |spec: &Spec| spec.loss.get("k").is_some_and(|k| k > 1.0);
        Self::ALL.into_iter().find(|method| {
            let named = method.spec();
            spec.scheme == named.scheme
                && discriminant(&spec.loss) == discriminant(&named.loss)
                && is_beyond_best(spec) == is_beyond_best(&named)
                && (discriminant(&spec.penalty) == discriminant(&named.penalty)
                    || (spec.penalty.l1_ratio().is_some() && named.penalty.l1_ratio().is_some()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_recognised_by_its_spec() {
        for method in Method::ALL {
            assert_eq!(Method::of(&method.spec()), Some(method), "{}", method.name());
            assert!(method.spec().check().is_ok());
        }
        let net =
            |l1_ratio| Spec { penalty: Method::Smlr.spec().penalty.with_l1_ratio(l1_ratio), ..Method::Smlr.spec() };
        for l1_ratio in [0.0, 0.3, 1.0] {
            assert_eq!(Method::of(&net(l1_ratio)), Some(Method::Smlr));
            assert_eq!(net(l1_ratio).penalty.lambda(), Some(AUTO));
        }
        assert_eq!(net(1.0), Method::Smlr.spec());
        assert!(net(f64::NAN).check().is_err());
        assert_eq!(Method::Lr.spec().penalty.with_l1_ratio(0.5), Method::Lr.spec().penalty);
        let nameless = Spec { penalty: AnyPenalty::None(crate::penalty::NoPenalty {}), ..Spec::default() };
        assert_eq!(Method::of(&nameless), None);
    }
}
