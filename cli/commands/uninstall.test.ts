/** `svc uninstall`, with real files of agents, a node that runs, and a home of its own. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startNode } from '../../daemon/node.ts'
import { runIn } from '../testing.ts'

let folder: string
let env: Record<string, string>
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-uninstall-'))
  env = {
    SVC_HOME: join(folder, '.svc'),
    XDG_CACHE_HOME: join(folder, '.cache'),
    XDG_STATE_HOME: join(folder, '.state'),
    HOME: folder,
  }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const home = () => join(folder, '.svc')
const typing = (text: string) => ({ stdin: Readable.from([text]) as never })

/** A node that has made its identity and ended. */
async function identity(dir = home()): Promise<void> {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const node = await startNode({
    dir,
    env: { ...env, SVC_RUNTIME_DIR: join(folder, 'run') },
    name: dir === home() ? 'default' : 'work',
  })
  await node.stop()
}

test('takes svc out of every agent, and leaves identity and data', async () => {
  await identity()
  mkdirSync(join(folder, '.claude'))
  writeFileSync(join(folder, '.claude.json'), '{"mine":1}\n')
  for (const tool of ['claude', 'codex']) await runIn(folder, ['install', tool, '--mcp', '--hooks'], env)
  expect(readFileSync(join(folder, '.claude.json'), 'utf8')).toContain('"svc"')
  const { code, out } = await runIn(folder, ['uninstall'], env)
  const reply = JSON.parse(out)
  expect(code).toBe(0)
  expect(new Set(reply.changes.map(({ tool }: { tool: string }) => tool))).toEqual(
    new Set(['claude', 'codex']),
  )
  expect(readFileSync(join(folder, '.claude.json'), 'utf8')).toBe('{"mine":1}\n')
  expect(existsSync(join(folder, '.codex'))).toBe(false)
  expect(reply.data.state).toBe('kept')
  expect(readdirSync(home())).toContain('identity.kel')
  expect(existsSync(join(folder, 'run'))).toBe(false)
  expect(reply.removed).toContain(join(folder, 'run'))
})

test('keeps what guards an identity against an older copy, where its data stays', async () => {
  await identity()
  rmSync(join(folder, '.state'), { recursive: true })
  writeFileSync(join(folder, '.state'), 'no folder')
  await runIn(folder, ['uninstall'], env)
  expect(readdirSync(join(folder, 'run'))).toEqual(['heads'])
  expect(readdirSync(join(folder, 'run', 'heads'))).toHaveLength(1)
})

test('a trial changes nothing, whatever else is asked for', async () => {
  await identity()
  await runIn(folder, ['install', 'claude', '--mcp'], env)
  const before = readdirSync(folder, { recursive: true })
  const { code, out } = await runIn(folder, ['uninstall', '--data', '--dry-run'], env)
  expect(code).toBe(0)
  expect(JSON.parse(out).changes.length).toBeGreaterThan(1)
  expect(readdirSync(folder, { recursive: true })).toEqual(before)
})

test('removes every identity once the word is typed', async () => {
  await identity()
  await identity(join(home(), 'ids', 'work'))
  const { code, out, err } = await runIn(folder, ['uninstall', '--data'], env, typing('erase\n'))
  expect(code).toBe(0)
  expect(err).toContain('Nobody can bring them back')
  const { data } = JSON.parse(out)
  expect(data).toMatchObject({ state: 'erased', left: [] })
  expect(data.identities.map(({ id }: { id: string }) => id)).toEqual(['default', 'work'])
  expect(existsSync(home())).toBe(false)
  expect(existsSync(join(folder, '.state', 'svc'))).toBe(false)
  expect(existsSync(join(folder, 'run'))).toBe(false)
})

test.each(['', 'yes\n', 'Erase\n'])('changes nothing where %j was typed instead', async typed => {
  await identity()
  await runIn(folder, ['install', 'claude', '--mcp'], env)
  const before = readdirSync(folder, { recursive: true })
  const { code, err } = await runIn(folder, ['uninstall', '--data'], env, typing(typed))
  expect(code).toBe(1)
  expect(err).toContain('the word erase was not typed; nothing was changed')
  expect(readdirSync(folder, { recursive: true })).toEqual(before)
})

test('leaves files of others in the home, and names them', async () => {
  await identity()
  writeFileSync(join(home(), 'notes.txt'), 'mine')
  const { code, out } = await runIn(folder, ['uninstall', '--data'], env, typing('erase\n'))
  expect(code).toBe(1)
  expect(JSON.parse(out).data).toMatchObject({ state: 'left', left: [join(home(), 'notes.txt')] })
  expect(readdirSync(home())).toEqual(['notes.txt'])
})

test('an agent whose file can’t be read is named, and the others are cleared', async () => {
  await runIn(folder, ['install', 'claude', '--mcp'], env)
  await runIn(folder, ['install', 'qwen', '--mcp'], env)
  writeFileSync(join(folder, '.qwen', 'settings.json'), '{ broken')
  const { code, out } = await runIn(folder, ['uninstall'], env)
  expect(code).toBe(1)
  const [failed, ...others] = JSON.parse(out).failed
  expect([failed.tool, others]).toEqual(['qwen', []])
  expect(failed.why).toContain('settings.json')
  expect(existsSync(join(folder, '.claude.json'))).toBe(false)
})

test('a service of the user that starts svc is named with the line that ends it', async () => {
  const units = join(folder, '.config', 'systemd', 'user')
  mkdirSync(units, { recursive: true })
  writeFileSync(join(units, 'my-svc.service'), '[Service]\nExecStart=/usr/local/bin/svc daemon\n')
  writeFileSync(join(units, 'other.service'), '[Service]\nExecStart=/usr/bin/other --svc daemonless\n')
  const { out } = await runIn(folder, ['uninstall'], env)
  const path = join(units, 'my-svc.service')
  const stop = `systemctl --user disable --now my-svc.service && rm ${path}`
  expect(JSON.parse(out).services).toEqual([{ path, stop }])
})
