"""Chats: messages to text by a template, and to ids.

``templates`` are compiled, ``content_parts`` says what messages may hold, ``rendering`` makes the text and tells who
wrote it, ``encoding`` makes ids, masks and labels of it.
"""
