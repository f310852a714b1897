/** What `svc doctor` says of a directory on which somebody works. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { lockDirectory } from '../../daemon/home/lock.ts'
import { startNode } from '../../daemon/node.ts'
import { runIn } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const env = { SVC_RUNTIME_DIR: join(folder, 'run') }

type Finding = { check: string; state: string; found: string; mend?: string }
async function findings(): Promise<Finding[]> {
  const { code, out } = await runIn(folder, ['doctor'])
  expect(code).toBe(0)
  return (JSON.parse(out) as { findings: Finding[] }).findings
}
const checks = (found: readonly Finding[]) => found.map(({ check }) => check)

test('a command that works there, or a node before it answers, is awaited, and its files are left alone', async () => {
  const node = await startNode({ dir: folder, env, name: 'default' })
  await node.stop()
  const idle = await findings()
  expect(checks(idle)).toContain('records')
  for (const [purpose, found] of [
    ['command', 'another command works on this directory'],
    ['node', 'a node is about to start or to end'],
  ] as const) {
    using _held = lockDirectory(folder, purpose)
    const seen = await findings()
    expect(checks(seen)).not.toContain('records')
    expect(seen.find(({ check }) => check === 'process')).toEqual({
      check: 'process',
      state: 'note',
      found,
      mend: 'wait for it, then svc doctor',
    })
  }
})
