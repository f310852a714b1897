/** Commands of a later release: in the table, and refused in one sentence. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { commands } from '../table.ts'
import { runIn } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-table-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a command of a later release', () => {
  const support: Record<string, string> = {
    'p2p-advertise': 'direct-connection',
    tui: 'terminal-inbox',
  }
  const later = commands.filter(({ group }) => group === 'later')

  test.each(later.map(row => [row.path, row] as const))(
    '%s says that this build has no support',
    async (path, row) => {
      const required = (row.positionals ?? []).filter(one => one.required).map(() => '1')
      const { code, out, err } = await runIn(folder, [path, ...required])
      const sentence = `this build has no ${support[path] ?? 'payment'} support`
      expect([code, out, err]).toEqual([1, '', `svc: ${sentence}\ntry: svc version\n`])
    },
  )

  test('has its flags checked first', async () => {
    expect(await runIn(folder, ['redeem'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^svc: missing argument: <amount>\n/),
    })
    const { code, err } = await runIn(folder, ['pay-header', '--payto', 'x'])
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /^svc: unknown flag --payto for "x402-authorize"; the nearest is --pay-to; accepted: --pay-to, --amount, .*\n$/,
      ),
    ])
  })
})
