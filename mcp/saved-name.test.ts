/** Names under which files of strangers are saved: no sentence, and nothing that a program takes by itself. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { savedName } from './saved-name.ts'

const named = (name: string, type = 'application/octet-stream', isText = true) =>
  savedName(name, { type, mark: 'k3xq7abc', isText: () => isText })

test.each([
  ['Quarterly report 2026.PDF', 'svc-quarterly-k3xq7abc.pdf'],
  ['notes.md', 'svc-notes-k3xq7abc.md'],
  ['archive.tar.gz', 'svc-archive-k3xq7abc.gz'],
  ['conftest.py', 'svc-conftest-k3xq7abc.py.txt'],
  ['x.auto.tfvars.json', 'svc-x-k3xq7abc.json.txt'],
  ['日本.go', 'svc-file-k3xq7abc.go.txt'],
  ['a.ignoreallrules', 'svc-a-k3xq7abc.txt'],
  ['pneumonoultramicroscopic.sh', 'svc-pneumonoultramic-k3xq7abc.sh.txt'],
  ['../../.ssh/id_rsa', 'svc-id-k3xq7abc.txt'],
])('%s is saved as %s', (name, saved) => expect(named(name)).toBe(saved))

test('a name that says nothing is called by its type, and by what it holds', () => {
  expect(named('report', 'application/pdf', false)).toBe('svc-report-k3xq7abc.pdf')
  expect(named('report', 'text/x-python', true)).toBe('svc-report-k3xq7abc.txt')
  expect(named('report.sh', 'application/pdf', true)).toBe('svc-report-k3xq7abc.sh.txt')
  expect(named('report', 'constructor', false)).toBe('svc-report-k3xq7abc.bin')
})

test('whatever a sender chooses, one word of it is left', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string(), (name, type) => {
      expect(named(name, type)).toMatch(
        /^svc-[a-z0-9]{1,16}-k3xq7abc(?:\.[a-z0-9]{1,8})?(?:\.[a-z0-9]{2,4})$/,
      )
    }),
  )
})
