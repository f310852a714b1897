/** Files that a model may send: of open folders alone, and none that is known to hold secrets. */
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Folders, openFiles } from './files.ts'

let base: string
const at = (...path: string[]) => join(base, ...path)
function file(...path: string[]): string {
  mkdirSync(dirname(at(...path)), { recursive: true })
  writeFileSync(at(...path), 'words')
  return at(...path)
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-files-')))
  for (const path of ['project/notes.md', 'other/notes.md', 'data/attachments/bafy', 'project/.env'])
    file(...path.split('/'))
  symlinkSync(at('other', 'notes.md'), at('project', 'link.md'))
  symlinkSync(at('project', '.env'), at('project', 'harmless.txt'))
})

const files = (given: Partial<Folders>) =>
  openFiles({
    configured: [],
    cwd: at('project'),
    roots: async () => undefined,
    dataDir: async () => at('data'),
    ...given,
  })
const root = (name: string) => async () => [pathToFileURL(at(name)).href]

describe('a file', () => {
  test('of a folder that the client opened is sent; one beside it, or behind a link, is not', async () => {
    const { allowed } = files({ roots: root('project'), cwd: '/' })
    expect(await allowed(at('project', 'notes.md'))).toBe(at('project', 'notes.md'))
    for (const path of [
      at('other', 'notes.md'),
      at('project', 'link.md'),
      at('project', '..', 'other', 'notes.md'),
    ])
      await expect(allowed(path)).rejects.toMatchObject({
        code: 'file_unreadable',
        message: expect.stringMatching(
          /is not open to this agent.* --folder \S*other among the arguments of svc where this agent registers it/,
        ),
      })
  })

  test('of a folder that the user configured is sent, also where the client opens another', async () => {
    const { allowed } = files({ roots: root('project'), configured: [at('other')] })
    expect(await allowed(at('other', 'notes.md'))).toBe(at('other', 'notes.md'))
  })

  test('of the working folder is sent where nobody says anything, unless that is the home or above it', async () => {
    expect(await files({}).allowed(at('project', 'notes.md'))).toBe(at('project', 'notes.md'))
    for (const cwd of ['/', homedir(), dirname(homedir())])
      await expect(files({ cwd }).allowed(at('project', 'notes.md'))).rejects.toMatchObject({
        message: expect.stringContaining('no folder is open'),
      })
    await expect(files({ roots: async () => [] }).allowed(at('project', 'notes.md'))).rejects.toThrow(
      'no folder',
    )
  })

  test('of the node itself is left to the node', async () => {
    expect(await files({}).allowed(at('data', 'attachments', 'bafy'))).toBe(at('data', 'attachments', 'bafy'))
  })

  test('with secrets is never sent, under no other name either', async () => {
    for (const path of [at('project', '.env'), at('project', 'harmless.txt')])
      await expect(files({ roots: root('project') }).allowed(path)).rejects.toThrow('a place of secrets')
  })

  test('that has another name on the disk is refused, since that may be one of a secret, and its copy is sent', async () => {
    linkSync(at('project', '.env'), at('project', 'x.txt'))
    const { allowed } = files({ roots: root('project') })
    await expect(allowed(at('project', 'x.txt'))).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringMatching(/has 2 names on this disk \(hard links\).*; a copy that its user makes/),
    })
    copyFileSync(at('project', 'x.txt'), at('project', 'y.txt'))
    expect(await allowed(at('project', 'y.txt'))).toBe(at('project', 'y.txt'))
  })

  test('that holds a private key is refused under any name', async () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    const { allowed } = files({ roots: root('project') })
    const contents: Record<string, string | Buffer> = {
      'pem.txt': pem,
      'windows.txt': pem.replaceAll('\n', '\r\n'),
      'utf16.txt': Buffer.from(`\ufeff${pem}`, 'utf16le'),
      'bag.txt': `Bag Attributes\n    localKeyID: 01\n${pem}`,
      'indented.yaml': `key: |\n  ${pem.replaceAll('\n', '\n  ')}`,
      'openssh.txt': '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE=\n',
      'gpg.txt': '-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ==\n',
      'account.json': JSON.stringify({ type: 'service_account', private_key: pem }, undefined, 2),
      'cluster.yaml': `users:\n- user:\n    client-key-data: ${Buffer.from(pem).toString('base64')}\n`,
      'putty.txt': 'PuTTY-User-Key-File-3: ssh-ed25519\n',
      'age.txt': '# created: today\nAGE-SECRET-KEY-1QQQ\n',
    }
    for (const [name, content] of Object.entries(contents)) {
      writeFileSync(file('project', name), content)
      await expect(allowed(at('project', name)), name).rejects.toThrow('holds a private key')
    }
    const spoken = 'A key begins with `-----BEGIN PRIVATE KEY-----`; "private_key" names it in JSON.'
    writeFileSync(file('project', 'spoken.md'), spoken)
    expect(await allowed(at('project', 'spoken.md'))).toBe(at('project', 'spoken.md'))
  })

  test('that is none is refused, and a pipe without a writer keeps nobody waiting', async () => {
    execFileSync('mkfifo', [at('project', 'pipe')])
    for (const path of [at('project', 'pipe'), at('project')])
      await expect(files({ roots: root('project') }).allowed(path)).rejects.toThrow('is not a file')
  })

  test('that is not there, or named from nowhere, is refused with a sentence', async () => {
    await expect(files({}).allowed(at('project', 'none'))).rejects.toThrow('there is no such file')
    await expect(files({}).allowed('notes.md')).rejects.toThrow('is not an absolute path')
    await expect(files({}).allowed('/a\0b')).rejects.toThrow('a path has no NUL in it')
  })

  test('of the system is never sent, and nobody is told to open its folder', async () => {
    for (const path of ['/proc/self/environ', '/dev/zero', '/sys/kernel/notes'])
      await expect(files({}).allowed(path)).rejects.toThrow(`${path} is of the system and no file of a user`)
  })
})
