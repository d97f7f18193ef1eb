"""What CONTRIBUTING adds step by step, carried out without a change of polyopt."""
