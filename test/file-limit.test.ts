import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname

const BLOCKED = `import { spawnSync } from 'node:child_process'
import { test } from 'vitest'
test('waits for another program', () => void spawnSync('sleep', ['61']))`
const OTHER = `import { test } from 'vitest'
test('ends', () => {})`

test('a file that does not end is named with its processes and ended, and the others run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-file-limit-'))
  const at = (name: string) => join(folder, name)
  symlinkSync(join(root, 'node_modules'), at('node_modules'))
  writeFileSync(at('blocked.test.ts'), BLOCKED)
  for (const name of ['one', 'two']) writeFileSync(at(`${name}.test.ts`), OTHER)
  const given = { maxWorkers: 2, isolate: false, setupFiles: [join(root, 'test/file-limit.ts')] }
  writeFileSync(at('vitest.config.mjs'), `export default { test: ${JSON.stringify(given)} }`)

  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder],
    {
      encoding: 'utf8',
      env: { ...process.env, SVC_FILE_MINUTES: '0.05', SVC_ENDED_FILES: at('ended'), NO_COLOR: '1' },
      timeout: 40_000,
    },
  )

  expect(status).toBe(1)
  expect(stderr).toContain('did not end in 0.05 minutes: ')
  const ended = readFileSync(at('ended'), 'utf8')
  expect(ended).toContain('blocked.test.ts: waits for another program\nits processes:\n')
  const pid = /^ {2}(\d+) sleep 61 $/m.exec(ended)?.[1]
  expect(pid).toBeDefined()
  await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false)
  for (const name of ['one', 'two']) expect(stdout).toContain(`✓ ${name}.test.ts`)
})
