/** A new hub in a folder that was there before: who else of the machine may enter it. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemTimers } from '../protocol/timers.ts'
import { systemRandom } from './core/random.ts'
import { openDataDirectory } from './data-dir.ts'
import { openness } from './directory-access.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-folder-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function hubIn(name: string, admission?: 'open' | 'closed', saw?: (mode?: string) => void) {
  const directory = join(folder, name)
  const data = await openDataDirectory({
    directory,
    now: Date.now,
    timers: systemTimers,
    random: systemRandom,
    admission,
    onBroken: ({ message }) => expect.unreachable(message),
  })
  saw?.(await data.store.setting('admission'))
  await data.close()
  return directory
}

function openFolder(name: string, ...files: string[]): void {
  mkdirSync(join(folder, name))
  for (const file of files) writeFileSync(join(folder, name, file), '{}', { mode: 0o600 })
  chmodSync(join(folder, name), 0o755)
}

test.each([[[]], [['config.json']]])('one that holds nothing else (%j) is closed', async files => {
  const name = `alone-${files.length}`
  openFolder(name, ...files)
  const directory = await hubIn(name)
  expect(openness(directory)).toBeUndefined()
})

test('one that holds files of others stays as it is, with what closes it', async () => {
  openFolder('shared', 'notes.txt')
  const directory = await hubIn('shared')
  expect([statSync(directory).mode & 0o777, openness(directory)]).toEqual([
    0o755,
    `other users of this machine can enter ${directory}; close it with: chmod go= ${directory}`,
  ])
})

test('one that its owner opened later stays open', async () => {
  const directory = await hubIn('later')
  expect(openness(directory)).toBeUndefined()
  chmodSync(directory, 0o750)
  await hubIn('later')
  expect(statSync(directory).mode & 0o777).toBe(0o750)
})

test('who may register is settled where a hub is made, and no later start changes it', async () => {
  const seen: (string | undefined)[] = []
  const saw = (mode?: string) => void seen.push(mode)
  await hubIn('first', 'open', saw)
  await hubIn('first', 'closed', saw)
  await hubIn('second', undefined, saw)
  await hubIn('second', 'open', saw)
  expect(seen).toEqual(['open', 'open', 'closed', 'closed'])
})
