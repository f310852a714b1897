/** The format of an archive: what was put in comes out, and nothing else does. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { systemRandom } from '../platform/random.ts'
import { loadArchive } from './load.ts'
import {
  type ArchiveKind,
  ArchiveRefused,
  type Entry,
  readArchive,
  readHead,
  writeArchive,
} from './sealed.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-archive-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (name: string) => join(folder, name)
const PASSPHRASE = 'correct horse battery'
const DISK_BYTES = 96 * 1024
const cost = { n: 2, r: 1, p: 1 }
const head = { kind: 'export' as const, aid: 'Axyz', madeAtMs: 1_700_000_000_000, release: '0.3.0' }

const entry = (path: string, ...pieces: Uint8Array[]): Entry => ({
  path,
  size: pieces.reduce((sum, piece) => sum + piece.length, 0),
  bytes: pieces,
})
const large = new Uint8Array(100_000).map((_, n) => n)
const entries = () => [
  entry('a', Uint8Array.of(1, 2), Uint8Array.of(3)),
  entry('empty'),
  entry('interactions/store.db', large),
]

async function contents(path: string, passphrase = PASSPHRASE): Promise<[string, Buffer][]> {
  const found: [string, Buffer][] = []
  for await (const { path: name, bytes } of readArchive(path, passphrase)) {
    const parts: Uint8Array[] = []
    for await (const part of bytes) parts.push(part.slice())
    found.push([name, Buffer.concat(parts)])
  }
  return found
}

beforeAll(() => writeArchive(at('whole'), PASSPHRASE, head, entries(), { random: systemRandom, cost }))

test('entries come out as they went in, and the file is private to its user', async () => {
  expect(await contents(at('whole'))).toEqual([
    ['a', Buffer.of(1, 2, 3)],
    ['empty', Buffer.of()],
    ['interactions/store.db', Buffer.from(large)],
  ])
  expect(statSync(at('whole')).mode & 0o077).toBe(0)
})

test('what it is can be read without the passphrase, and nothing of what it holds', () => {
  expect(readHead(at('whole'))).toEqual(head)
  expect(readFileSync(at('whole')).includes('store.db')).toBe(false)
})

test('another passphrase, a changed head, a flipped byte and a missing or added end are refused', async () => {
  const bytes = readFileSync(at('whole'))
  const line = bytes.indexOf('\n')
  const changed = (name: string, change: (copy: Buffer) => Buffer) => {
    writeFileSync(at(name), change(Buffer.from(bytes)))
    return at(name)
  }
  const flipped = (place: number) => (copy: Buffer) => {
    copy.writeUInt8(copy.readUInt8(place) ^ 1, place)
    return copy
  }
  const bad = [
    changed('kind', copy =>
      Buffer.concat([
        Buffer.from(copy.subarray(0, line).toString().replace('export', 'backup')),
        copy.subarray(line),
      ]),
    ),
    ...[line + 1, line + 40, line + 5000, bytes.length - 1].map(place =>
      changed(`flip-${place}`, flipped(place)),
    ),
    ...[line + 10, line + 20_000, bytes.length - 1].map(size =>
      changed(`cut-${size}`, copy => copy.subarray(0, size)),
    ),
    changed('more', copy => Buffer.concat([copy, Buffer.of(0)])),
  ]
  for (const path of bad)
    await expect(contents(path)).rejects.toThrow(
      /cannot be opened: the passphrase is another one, or the file is damaged; try another/,
    )
  await expect(contents(at('whole'), 'correct horse batter')).rejects.toThrow(/cannot be opened/)
})

describe('recorded archives', () => {
  type Given = { reason: string; passphrase: string; archive: string }
  type Head = { kind: ArchiveKind; aid: string; made_at: number; release: string }
  const vectors = JSON.parse(
    readFileSync(new URL('../../fixtures/archive/archives.json', import.meta.url), 'utf8'),
  ) as {
    valid: (Given & Head & { entries: { path: string; bytes: string }[] })[]
    invalid: (Given & { fault: string })[]
  }
  const file = (hex: string) => {
    writeFileSync(at('vector'), Buffer.from(hex, 'hex'))
    return at('vector')
  }
  const isRefused = (work: () => unknown) =>
    Promise.resolve()
      .then(work)
      .then(
        () => false,
        error => {
          if (error instanceof ArchiveRefused) return true
          throw error
        },
      )

  test.each(vectors.valid)('open: $reason', async ({ passphrase, archive, entries: wanted, ...given }) => {
    const found = await contents(file(archive), passphrase)
    const { kind, aid, made_at: madeAtMs, release } = given
    expect(readHead(at('vector'))).toEqual({ kind, aid, madeAtMs, release })
    expect(found.map(([path, bytes]) => ({ path, bytes: bytes.toString('hex') }))).toEqual(wanted)
  })

  test.each(vectors.invalid)('are refused: $reason, $fault', async ({ passphrase, archive, fault }) => {
    const path = file(archive)
    expect(await isRefused(() => readHead(path))).toBe(fault === 'head')
    expect(await isRefused(() => contents(path, passphrase))).toBe(fault !== 'path')
    if (fault !== 'path') return
    const into = { path, dir: at('vector-into'), passphrase, kind: readHead(path).kind }
    expect(await isRefused(() => loadArchive(into))).toBe(true)
  })
})

test('what is no archive, or asks for more work than any does, is refused at once', () => {
  const line = JSON.parse(readFileSync(at('whole'), 'utf8').split('\n')[0] as string) as object
  const bad = [
    '',
    'x',
    '{}\n',
    `${JSON.stringify({ ...line, n: 2 ** 30 })}\n`,
    // sixteen times the time, and the memory, of what the release writes
    `${JSON.stringify({ ...line, n: 2 ** 19, r: 32, p: 1 })}\n`,
    `${JSON.stringify({ ...line, n: 2 ** 17, r: 8, p: 5 })}\n`,
    `${JSON.stringify({ ...line, more: 1 })}\n`,
    'x'.repeat(9000),
  ]
  execFileSync('mkfifo', [at('pipe')])
  expect(() => readHead(at('pipe'))).toThrow(
    `${at('pipe')} cannot be read: it is not a regular file; give a file`,
  )
  for (const text of bad) {
    writeFileSync(at('bad'), text)
    expect(() => readHead(at('bad'))).toThrow(`${at('bad')} is no archive of svc that this release can read`)
  }
})

test('a guess at the passphrase costs what the head says, unless it is lowered', async () => {
  await writeArchive(at('costly'), PASSPHRASE, head, [], { random: systemRandom })
  expect(readFileSync(at('costly'), 'utf8')).toContain('"kdf":"scrypt","n":131072,"r":8,"p":1,')
  expect(await contents(at('costly'))).toEqual([])
})

test('a short passphrase makes no archive, nor does a file that changes meanwhile', async () => {
  await expect(writeArchive(at('short'), 'eleven char', head, [], { random: systemRandom })).rejects.toThrow(
    /at least 12 characters/,
  )
  const grown = { path: 'a', size: 1, bytes: [Uint8Array.of(1, 2)] }
  await expect(
    writeArchive(at('grown'), PASSPHRASE, head, [grown], { random: systemRandom, cost }),
  ).rejects.toThrow(/a changed while it was being saved/)
  expect(() => statSync(at('grown'))).toThrow()
})

test.skipIf(!hasSmallDisks)('an archive for which there is no room is none, and leaves nothing', () =>
  withSmallDisk(DISK_BYTES, async disk => {
    const path = join(disk, 'archive')
    const one = entry('interactions/store.db', new Uint8Array(DISK_BYTES - 200))
    // the last piece finds room for a part of itself
    const written = writeArchive(path, PASSPHRASE, head, [one], { random: systemRandom, cost })
    await expect(written).rejects.toThrow('ENOSPC')
    expect(existsSync(path)).toBe(false)
  }),
)

test('an entry that names a place outside, or none of a data directory, is refused and leaves nothing', async () => {
  for (const [n, path] of [
    '../evil',
    '/etc/evil',
    'interactions/attachments/../../evil',
    'authorized_keys',
    'interactions/attachments/x',
    '',
  ].entries()) {
    const archive = at(`hostile-${n}`)
    await writeArchive(archive, PASSPHRASE, head, [entry(path, Uint8Array.of(1))], {
      random: systemRandom,
      cost,
    })
    const dir = at(`into-${n}`)
    await expect(
      loadArchive({ path: archive, dir, passphrase: PASSPHRASE, kind: 'export' }),
    ).rejects.toThrow()
    expect(() => statSync(join(dir, 'identity.kel'))).toThrow()
    expect(() => statSync(at('evil'))).toThrow()
  }
})
