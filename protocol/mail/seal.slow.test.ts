import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const GROWTH_BYTES_MAX = 32 * 1024 * 1024
const script = new URL('../testing/memory.ts', import.meta.url).pathname

function measure(side: 'seal' | 'open', path: string): { growth: number; bytes: number } {
  return JSON.parse(execFileSync(process.execPath, [script, side, path], { encoding: 'utf8' }))
}

test('a message of 90 MiB is sealed, and opened, by a process that grows by less than 32 MiB', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-seal-'))
  try {
    const sealed = measure('seal', join(folder, 'envelope'))
    const opened = measure('open', join(folder, 'envelope'))
    expect(opened.bytes).toBe(90 * 1024 * 1024)
    expect(sealed.growth).toBeLessThan(GROWTH_BYTES_MAX)
    expect(opened.growth).toBeLessThan(GROWTH_BYTES_MAX)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
