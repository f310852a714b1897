import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { LogFile, olderLog } from './log-file.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-log-file-'))
  path = join(folder, 'daemon.log')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('lines go behind those of an earlier run, for its owner alone', () => {
  writeFileSync(path, 'earlier\n')
  const log = new LogFile(path, Date.now)
  log.write('one\n')
  log.write('two\n')
  log.close()
  expect(readFileSync(path, 'utf8')).toBe('earlier\none\ntwo\n')
  const fresh = new LogFile(join(folder, 'fresh.log'), Date.now)
  fresh.write('x\n')
  fresh.close()
  expect(statSync(join(folder, 'fresh.log')).mode & 0o777).toBe(0o600)
})

test('a log that is full goes on in a new file; of the older ones one is kept', () => {
  const log = new LogFile(path, Date.now, 100)
  const line = (n: number) => `${String(n).padStart(9, '0')}\n`
  for (let n = 0; n < 35; n++) log.write(line(n))
  log.close()
  const kept = readFileSync(olderLog(path), 'utf8') + readFileSync(path, 'utf8')
  expect(kept.trimEnd().split('\n').map(Number)).toEqual(Array.from({ length: 15 }, (_, i) => i + 20))
  expect(existsSync(`${olderLog(path)}.1`)).toBe(false)
  // The bound holds over a restart as well.
  const again = new LogFile(path, Date.now, 100)
  for (let n = 35; n < 50; n++) again.write(line(n))
  again.close()
  expect(statSync(path).size + statSync(olderLog(path)).size).toBeLessThanOrEqual(200)
})

test('a folder that is gone ends nothing, and what was lost is counted', () => {
  const log = new LogFile(join(folder, 'none', 'daemon.log'), Date.now)
  expect(() => log.write('x\n')).not.toThrow()
  log.close()
})

test.runIf(hasSmallDisks)(
  'a full disk loses lines and ends nothing; with room again the log says how many',
  () =>
    withSmallDisk(256 * 1024, disk => {
      const log = new LogFile(join(disk, 'daemon.log'), Date.now)
      log.write('before\n')
      fillUp(join(disk, 'ballast'))
      const lines = 2000
      for (let n = 0; n < lines; n++) log.write(`{"n":${n}}\n`)
      rmSync(join(disk, 'ballast'))
      log.write('after\n')
      log.close()
      const text = readFileSync(join(disk, 'daemon.log'), 'utf8')
      expect(text.startsWith('before\n')).toBe(true)
      expect(text.endsWith('after\n')).toBe(true)
      const lost = Number(/"lost":(\d+)/.exec(text)?.[1])
      const kept = text.split('\n').filter(line => /^\{"n":\d+\}$/.test(line)).length
      expect(lost).toBeGreaterThan(0)
      expect(lost + kept).toBe(lines)
    }),
)
