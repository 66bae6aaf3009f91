"""Who answers: the only constructors of TransformerLens models, what we ask of any model, and the fast forward."""
