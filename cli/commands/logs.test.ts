import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runIn } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-logs-'))
const lines = (from: number) => Array.from({ length: 101 - from }, (_, n) => `line ${n + from}\n`).join('')
writeFileSync(join(folder, 'daemon.log'), lines(1))

test.each([
  [[], 21],
  [['3'], 98],
  [['--all'], 1],
])('logs %j reads the file itself, from line %i of 100 on', async (words, from) => {
  expect(await runIn(folder, ['logs', ...words])).toEqual({ code: 0, out: lines(from), err: '' })
})
