/**
 * Attacks on one machine and its owner: another user of it, hostile pages, repositories, archives, models and ledgers. They
 * stand beside what they attack as tests, in a real browser and with real processes; here they run together.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const TESTS = [
  // another user of the machine, hostile tabs and pages
  'test/console/other-user.test.ts',
  'test/console/opening.test.ts',
  'test/console/tabs.test.ts',
  'test/verify-page.test.ts',
  // what a hub can tie together, and what a hostile one shows
  'daemon/hubs/http.test.ts',
  'daemon/payments/lying-ledger.test.ts',
  'test/tool-foreign-words.test.ts',
  // commands with arguments of strangers, archives, secrets, models
  'daemon/modules/shell.test.ts',
  'cli/commands/archive.test.ts',
  'daemon/store/open.test.ts',
  'autoreply/secrets.test.ts',
  'autoreply/attack/attack.test.ts',
  // hostile repositories
  'test/hostile-project.test.ts',
]

/** Runs them all; whether each attack failed. */
export function attackMachine(): boolean {
  const root = join(import.meta.dirname, '../..')
  const missing = TESTS.filter(file => !existsSync(join(root, file)))
  if (missing.length > 0) throw new Error(`these attacks are gone: ${missing.join(', ')}`)
  const vitest = createRequire(import.meta.url).resolve('vitest/package.json')
  const { status } = spawnSync(process.execPath, [join(dirname(vitest), 'vitest.mjs'), 'run', ...TESTS], {
    cwd: root,
    stdio: 'inherit',
  })
  return status === 0
}
