import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskElements } from './mask-elements.ts';

const masked = (text: string): string => maskElements(text, (name) => name.includes('secret'), '***');

test('the content of hidden elements and the values of hidden attributes are masked, and all else stays as it is written', () => {
  const cases = [
    ['<a> <b x="1"/> text &amp; <c>1.50</c></a>', '<a> <b x="1"/> text &amp; <c>1.50</c></a>'],
    ['<a><n:secret t="x">one</n:secret><b>two</b></a>', '<a><n:secret t="x">***</n:secret><b>two</b></a>'],
    ['<secret><secret>one</secret>two</secret>', '<secret>***</secret>'],
    ['<secret><![CDATA[</secret>one]]></secret><b/>', '<secret>***</secret><b/>'],
    ['<secret><!-- </secret> -->one<x a="</secret>"/></secret>', '<secret>***</secret>'],
    [`<a my-secret='one' b="two > three">x</a>`, `<a my-secret="***" b="two > three">x</a>`],
    ['<secret/><secret></secret>', '<secret/><secret>***</secret>'],
    ['<?xml version="1.0"?><!-- <secret>one</secret> --><a/>', '<?xml version="1.0"?><!-- <secret>one</secret> --><a/>'],
    ['<a><secret>one', '<a><secret>***'],
    ['no XML at all', 'no XML at all'],
  ] as const;
  for (const [text, wanted] of cases) assert.equal(masked(text), wanted);
});

test('a long text of the beginnings of tags takes no time that grows with its square', () => {
  for (const part of ['<a ', '<a b="', '<!--', '<![CDATA[', "<a b='c'"]) {
    const text = part.repeat(30_000);
    assert.equal(masked(text).length, text.length);
  }
});
