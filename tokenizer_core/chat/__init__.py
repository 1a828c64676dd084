"""Chats: messages to text by a template, and to ids.

``templates`` are compiled, ``content_parts`` says what messages may hold, ``rendering`` makes the text and tells who
wrote it, ``turns`` finds what of it the model has to write, ``encoding`` makes ids, masks and labels.
"""
