/** Files that a model may send: of open folders alone, and none that is known to hold secrets. */
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Folders, isSecret, openFiles } from './files.ts'

let base: string
const at = (...path: string[]) => join(base, ...path)
function file(...path: string[]): string {
  mkdirSync(dirname(at(...path)), { recursive: true })
  writeFileSync(at(...path), 'words')
  return at(...path)
}

beforeAll(() => {
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
    opens: folder => `svc mcp --folder ${folder}`,
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
        message: expect.stringMatching(/is not open to this agent.*svc mcp --folder .*other$/),
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

  test('that is not there, or named from nowhere, is refused with a sentence', async () => {
    await expect(files({}).allowed(at('project', 'none'))).rejects.toThrow('there is no such file')
    await expect(files({}).allowed('notes.md')).rejects.toThrow('is not an absolute path')
  })
})

test.each([
  '/home/a/.ssh/config',
  '/home/a/.aws/credentials',
  '/home/a/.config/gcloud/x/credentials.json',
  '/srv/app/.env.production',
  '/home/a/.netrc',
  '/home/a/work/server.pem',
  '/home/a/work/id_ed25519',
  '/home/a/.claude.json',
  '/home/a/.codex/auth.json',
  '/home/a/.gemini/oauth_creds.json',
  '/home/a/.claude/.credentials.json',
  '/home/a/.bash_history',
  '/home/a/pass.kdbx',
  '/etc/shadow',
  '/home/a/.svc/config.json',
])('%s is known to be secret', path => expect(isSecret(path)).toBe(true))

test.each(['/home/a/work/auth.ts', '/home/a/.env.example', '/home/a/keys.md', '/home/a/secretary.txt'])(
  '%s is not',
  path => expect(isSecret(path)).toBe(false),
)
