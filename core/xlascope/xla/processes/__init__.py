"""Several processes that run one program: how they find each other, agree, and notice that one of them is gone."""
