"""Interfaces: how a program in any language is reached. One file for each way."""
