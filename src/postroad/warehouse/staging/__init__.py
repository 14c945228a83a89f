"""Staging: what is worked out of the landed log before marts are made of it, each a pure function of frames."""
