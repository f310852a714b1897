/** Whoever listens where a database should learns no password, and is not taken for it. */
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Impostor, impostures } from '../../testing/impostor.ts'
import { StoreDenied } from '../setup-refused.ts'
import { connectTo } from './connections.ts'
import { openLink } from './link.ts'
import { isGuarded } from './socket-folder.ts'

const PASSWORD = 'never-told'
const hash = createHash('md5').update(`${PASSWORD}svc`).digest('hex')
const salted = createHash('md5').update(`${hash}salt`).digest('hex')

const ways = {
  async connections(url: string) {
    const connections = connectTo(url)
    try {
      await connections.run("INSERT INTO setting VALUES ('a-secret')")
    } finally {
      await connections.close()
    }
  },
  async link(url: string) {
    const link = await openLink(url)
    await link.close()
  },
}

const cases = Object.keys(ways).flatMap(way =>
  Object.keys(impostures).map(what => [way as keyof typeof ways, what as keyof typeof impostures] as const),
)

test.each(cases)('the %s tell nothing to a server that asks for %s', async (way, what) => {
  const impostor = await Impostor.start(impostures[what])
  const refused = ways[way](`postgres://svc:${PASSWORD}@127.0.0.1:${impostor.port}/svc`)
  await expect(refused).rejects.toBeInstanceOf(StoreDenied)
  await expect(refused).rejects.toThrow(/scram-sha-256|another program/)
  await expect(refused).rejects.not.toThrow(PASSWORD)
  expect(impostor.said).toContain('svc')
  expect(impostor.said).not.toMatch(new RegExp(`${PASSWORD}|${salted}|a-secret|LISTEN|BEGIN`))
  await expect.poll(() => impostor.open).toBe(0)
  await impostor.stop()
})

test.each([
  ['the password itself', /asks for the password itself, .*password_encryption = 'scram-sha-256'/],
  ['an MD5 hash of the password', /asks for an MD5 hash of the password, .*auth_type = scram-sha-256/],
  ['nothing', /asks for no password/],
  ['no proof in return', /does not show that it knows the password/],
  ['a proof in return that is wrong', /does not show that it knows the password/],
] as const)('a server that asks for %s is refused with what to do', async (what, sentence) => {
  const impostor = await Impostor.start(impostures[what])
  const refused = ways.link(`postgres://svc:${PASSWORD}@127.0.0.1:${impostor.port}/svc`)
  await expect(refused).rejects.toThrow(sentence)
  await impostor.stop()
})

test('a server is asked for nothing in return where no password is given', async () => {
  const impostor = await Impostor.start(impostures.nothing)
  await expect(ways.link(`postgres://svc@127.0.0.1:${impostor.port}/svc`)).resolves.toBeUndefined()
  await impostor.stop()
})

/** A folder of this mode, in a folder of that one. */
function folderOf(mode: number, above = 0o700): string {
  const parent = mkdtempSync(join(tmpdir(), 'svc-socket-'))
  const folder = join(parent, 'run')
  mkdirSync(folder)
  chmodSync(folder, mode)
  chmodSync(parent, above)
  return folder
}

/** A link to a folder, in a folder of this mode. */
function linkIn(mode: number, to: string): string {
  const link = join(folderOf(mode), 'link')
  symlinkSync(to, link)
  return link
}

test.each([
  ['in a folder of root or this user', folderOf(0o755), true],
  ['in a folder of its group', folderOf(0o2775), true],
  ['in a folder of this user, in one such as /tmp', folderOf(0o755, 0o1777), true],
  ['in a folder such as /tmp', folderOf(0o1777), false],
  ['in a folder where everybody may write', folderOf(0o777), false],
  ['in a folder that everybody may replace', folderOf(0o755, 0o777), false],
  ['in a folder that is not there', '/nowhere/run', false],
  ['behind a link of this user', linkIn(0o755, folderOf(0o755)), true],
  ['behind a link that everybody may replace', linkIn(0o777, folderOf(0o755)), false],
  ['behind a link to such a link', linkIn(0o755, linkIn(0o777, folderOf(0o755))), false],
  ['behind a link to a folder such as /tmp', linkIn(0o755, folderOf(0o1777)), false],
])('a socket %s says who listens there, or not', (_, folder, says) => {
  expect(isGuarded(folder)).toBe(says)
})

const withoutRoot = process.geteuid?.() === 0 ? undefined : 'needs root, to give a folder to another user'

test.skipIf(withoutRoot !== undefined)(
  `a socket in a folder of another user, in one such as /tmp, does not say who listens${withoutRoot === undefined ? '' : `: ${withoutRoot}`}`,
  () => {
    const folder = folderOf(0o755, 0o1777)
    chownSync(folder, 65_534, 65_534)
    expect(isGuarded(folder)).toBe(false)
  },
)

const over = (folder: string) => `postgres://svc:${PASSWORD}@localhost/svc?host=${encodeURIComponent(folder)}`

test.each(Object.keys(impostures))(
  'a server at a socket where others may write learns nothing by asking for %s',
  async what => {
    const folder = folderOf(0o1777)
    const asked = impostures[what as keyof typeof impostures]
    const impostor = await Impostor.start(asked, join(folder, '.s.PGSQL.5432'))
    const refused = ways.link(over(folder))
    await expect(refused).rejects.toThrow(/scram-sha-256|another program/)
    expect(impostor.said).toContain('svc')
    expect(impostor.said).not.toMatch(new RegExp(`${PASSWORD}|${salted}|LISTEN`))
    await impostor.stop()
  },
)

test('a server at a socket of this user is told what it asks for', async () => {
  const folder = folderOf(0o700)
  const impostor = await Impostor.start(impostures['the password itself'], join(folder, '.s.PGSQL.5432'))
  const link = ways.link(over(folder)).catch(() => undefined)
  await expect.poll(() => impostor.said).toContain(PASSWORD)
  await impostor.stop()
  await link
})
