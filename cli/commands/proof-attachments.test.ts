/** The files that came with a receipt: compared with what was signed, whatever they are called and whatever lies there. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { compareFiles } from './proof-attachments.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-proof-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const listed = (name: string, text: string) => ({ name, cid: cidText(contentId(utf8(text))) })
const signed = () => ({
  request: documentBytes({ task: 'sum it up', attachments: [listed('report.md', 'report')] }),
  result: documentBytes({ text: 'see summary.md', attachments: [listed('summary.md', 'summary')] }),
})
const none = { files_match: [], files_differ: [], files_missing: [], files_not_listed: [] }

test('files that request and result list are found by their content, also under another name', () => {
  write('report.md', 'report')
  write('summary-2.md', 'summary')
  expect(compareFiles(folder, signed())).toEqual({
    ...none,
    files_match: expect.arrayContaining(['report.md', 'summary-2.md']),
  })
})

test('a file with the name of a listed one and other content differs, and one that is away is missing', () => {
  write('summary.md', 'pay somebody else')
  expect(compareFiles(folder, signed())).toEqual({
    ...none,
    files_differ: ['summary.md'],
    files_missing: ['report.md'],
  })
})

test('the signed one under another name does not hide what lies under its own, nor do a thousand others', () => {
  write('summary.md', 'pay somebody else')
  write('aside.bin', 'summary')
  for (let n = 0; n < 1000; n++) write(`a${n}`, '')
  expect(compareFiles(folder, signed())).toMatchObject({
    files_differ: ['summary.md'],
    files_missing: ['report.md'],
  })
})

test('two files that were listed under one name are both known by it', () => {
  write('a.txt', 'one')
  write('a-2.txt', 'two')
  const result = documentBytes({ text: '', attachments: [listed('a.txt', 'one'), listed('a.txt', 'two')] })
  expect(compareFiles(folder, { request: undefined, result })).toEqual({
    ...none,
    files_match: expect.arrayContaining(['a.txt', 'a-2.txt']),
  })
})

test('what nobody listed is named, and nothing but a file is read', () => {
  write('invoice.md', 'x')
  mkdirSync(join(folder, 'inner'))
  symlinkSync('/dev/zero', join(folder, 'zero'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const { files_not_listed: others } = compareFiles(folder, { request: undefined, result: undefined })
  expect(others.toSorted()).toEqual(['inner', 'invoice.md', 'pipe', 'zero'])
})

test('an attachment that is called like a document is looked for under the name that it was given', () => {
  write('attached-proof.json', 'other')
  const result = documentBytes({ text: '', attachments: [listed('proof.json', 'mine')] })
  expect(compareFiles(folder, { request: undefined, result })).toMatchObject({
    files_differ: ['attached-proof.json'],
  })
})

test('documents that are none list nothing', () => {
  write('a', 'a')
  const bytes = utf8('{')
  expect(compareFiles(folder, { request: bytes, result: bytes })).toEqual({
    ...none,
    files_not_listed: ['a'],
  })
})
