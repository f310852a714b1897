/** Files that the console gave to the node, as they lie on the disk. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { Uploads } from './uploads.ts'

const HOUR_MS = 60 * 60_000

let folder: string
let timers: TestTimers
let drawn = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-uploads-'))
  timers = new TestTimers(Date.now())
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const opened = (at = folder) =>
  new Uploads(at, { now: timers.now, timers, random: length => new Uint8Array(length).fill(++drawn) })
/** A file that comes as the test gives it. */
function coming() {
  const content = new Readable({ read() {} })
  return { content, give: (text: string) => content.push(text), end: () => content.push(null) }
}
const count = () => readdirSync(folder, { recursive: true }).length
/** Until so many bytes of it are on the disk. */
const written = (bytes: number) =>
  expect
    .poll(() => {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => join(folder, name))
      return Math.max(0, ...files.filter(path => statSync(path).isFile()).map(path => statSync(path).size))
    })
    .toBe(bytes)

describe('a part of a file', () => {
  test('that a killed node left is gone after its next start, and whole files stay', async () => {
    const before = opened()
    const { path } = await before.take('whole.txt', Readable.from([Buffer.from('whole')]))
    const part = coming()
    part.content.on('error', () => undefined)
    const taken = before.take('part.txt', part.content)
    part.give('half')
    await written(5)
    await expect.poll(count).toBe(4)
    opened().removeOld()
    expect(count()).toBe(2)
    expect(readFileSync(path, 'utf8')).toBe('whole')
    part.end()
    await expect(taken).rejects.toThrow()
  })

  test('is given up an hour after its last byte, and kept while it goes on', async () => {
    const uploads = opened()
    const [silent, slow] = [coming(), coming()]
    const ends = [uploads.take('silent.txt', silent.content), uploads.take('slow.txt', slow.content)]
    const given = ends[0]?.catch((error: Error) => error.message)
    silent.give('a')
    slow.give('b')
    await written(1)
    await timers.pass(HOUR_MS - 1)
    uploads.removeOld()
    expect(count()).toBe(4)
    slow.give('c')
    await written(2)
    await timers.pass(HOUR_MS - 1)
    expect(await given).toBe('nothing of the file came for an hour; give it once more')
    expect(silent.content.destroyed).toBe(true)
    await expect.poll(count).toBe(2)
    slow.end()
    const { path } = (await ends[1]) ?? { path: '' }
    expect(readFileSync(path, 'utf8')).toBe('bc')
    expect(timers.count).toBe(0)
  })

  test('has no path that could be sent', async () => {
    const uploads = opened()
    const part = coming()
    const taken = uploads.take('part.txt', part.content)
    part.give('half')
    await written(4)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      expect([name, uploads.holds(join(folder, name))]).toEqual([name, false])
    part.end()
    expect(uploads.holds((await taken).path)).toBe(true)
  })
})

test('a file that was given is kept for a week, and one that was sent for an hour', async () => {
  const uploads = opened()
  const take = (name: string) => uploads.take(name, Readable.from([Buffer.from(name)]))
  const [waits, sent] = [await take('waits'), await take('sent')]
  uploads.spent([sent.path])
  await timers.pass(HOUR_MS + 1000)
  uploads.removeOld()
  expect([existsSync(waits.path), existsSync(sent.path)]).toEqual([true, false])
  const weekAgo = new Date(timers.now() - 7 * 24 * HOUR_MS - 1000)
  utimesSync(dirname(waits.path), weekAgo, weekAgo)
  uploads.removeOld()
  expect(count()).toBe(0)
})

test.skipIf(!hasSmallDisks)('a file for which there is no room is refused, and never cut short', async () => {
  await withSmallDisk(512 * 1024, async disk => {
    const uploads = opened(join(disk, 'uploads'))
    const take = (bytes: number) => uploads.take('a.bin', Readable.from([Buffer.alloc(bytes, 1)]))
    // the last part finds room for a part of itself
    await expect(take(600 * 1024)).rejects.toThrow('the disk is full')
    expect(readdirSync(join(disk, 'uploads'))).toEqual([])
    const { path, bytes } = await take(100 * 1024)
    expect(statSync(path).size).toBe(bytes)
    fillUp(join(disk, 'ballast'))
    await expect(take(10)).rejects.toThrow('the disk is full')
  })
})

test('a file that was given and is here no more is told from one that never was', async () => {
  const uploads = opened()
  const { path } = await uploads.take('report.pdf', Readable.from([Buffer.from('words')]))
  expect(uploads.isGone(path)).toBe(false)
  rmSync(dirname(path), { recursive: true })
  expect(uploads.isGone(path)).toBe(true)
  for (const other of [`${folder}/report.pdf`, `${folder}/${'x'.repeat(32)}/a`, `${path}/a`, '/none/a'])
    expect([other, uploads.isGone(other)]).toEqual([other, false])
})
