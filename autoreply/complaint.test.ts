/** What a program that fails says of it, as the owner of the node reads it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { complaintOf } from './complaint.ts'

const said = (text: string) => complaintOf(Buffer.from(text))

test.each([
  ["throw new TypeError('no such answer')", /^TypeError: no such answer$/],
  ["require('./answer.mjs')", /^Error: Cannot find module '\.\/answer\.mjs' Require stack: - /],
  ["throw new Error('outer', { cause: new Error('the key is missing') })", /^Error: outer$/],
  [
    "console.error('starting');throw new Error('first line\\nsecond line')",
    /^Error: first line second line$/,
  ],
  ["console.error('warming up');console.error('no model');process.exit(2)", /^warming up no model$/],
  ['let x = ;', /^SyntaxError: /],
])('of a script of this runtime that does %s it is the line that says why', (source, sentence) => {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-complaint-')), 'fails.cjs')
  writeFileSync(file, source)
  const { stderr } = spawnSync(process.execPath, [file])
  expect(complaintOf(stderr)).toMatch(sentence)
})

test.each([
  [
    'Python',
    `Traceback (most recent call last):
  File "/a.py", line 3, in <module>
    main()
  File "/a.py", line 2, in main
    raise KeyError('x')
KeyError: 'x'`,
    "KeyError: 'x'",
  ],
  [
    'Python that chains',
    `Traceback (most recent call last):
  File "/a.py", line 1
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/a.py", line 4
mylib.errors.ModelError: the last one`,
    'mylib.errors.ModelError: the last one',
  ],
  [
    'Go',
    'panic: no model\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3 +0x1d\nexit status 2',
    'panic: no model',
  ],
  ['a shell', '/a.sh: line 3: jq: command not found', '/a.sh: line 3: jq: command not found'],
  ['a tool', 'loading\nerror: no login; run login\n', 'error: no login; run login'],
  ['nothing', ' \n\n', ''],
])('of %s too', (_, text, sentence) => {
  expect(said(text)).toBe(sentence)
})

test('of two outputs both, each once, on one line of at most 300 characters', () => {
  expect(complaintOf(Buffer.from('a\nb'), Buffer.from('c'), Buffer.from('a b'))).toBe('a b; c')
  expect(said(`Error: ${'x'.repeat(400)}`).length).toBeLessThanOrEqual(300)
})
