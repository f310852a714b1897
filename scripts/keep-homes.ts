/**
 * Keeps one hub and one node directory as this release leaves them, under fixtures/homes/: every later build must open
 * them. Run it once when a release is finished: node scripts/keep-homes.ts <name>.
 */

import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { World } from '../cli/demo/world.ts'

const LEFT_OUT = /(-wal|-shm|\/lock|\.lock|\.log|\.sock|\.tmp|reserve.*)$/
const LOOKS_MAX = 200
const LOOK_MS = 50

const name = process.argv[2]
if (name === undefined) throw new Error('give the folder a name, for example 0.3.0-main-job')
const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const target = at(`fixtures/homes/${name}`)

await using world = new World({ svc: at('dist/svc.js'), hub: at('hub/dist/svc-hub.js') })
const hub = await world.startHub()
const [alice, bob] = [await world.startNode('alice'), await world.startNode('bob')]
for (const node of [alice, bob]) await world.hub('admit', String(node['aid']))
await world.svc('alice', 'hub-register', hub.url, '--name', 'alice')
await world.svc('bob', 'hub-register', hub.url, '--name', 'bob', '--caps', 'text.count')
await world.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
await world.svc('alice', 'contact', 'add', String(bob['aid']), 'bob')

const until = async (look: () => Promise<boolean>) => {
  for (let i = 0; i < LOOKS_MAX; i++) {
    if (await look()) return
    await pause(LOOK_MS)
  }
  throw new Error('it did not happen')
}
const file = join(world.root, 'note.txt')
writeFileSync(file, 'an attachment that stays\n')
const { interaction_id } = await world.svc(
  'alice',
  'delegate',
  'bob',
  'Keep this for later releases',
  '--attach',
  file,
)
const id = String(interaction_id)
const actions = async (node: 'alice' | 'bob') =>
  ((await world.svc(node, 'thread', id))['actions'] ?? []) as string[]
await until(async () => ((await world.svc('bob', 'inbox'))['items'] as unknown[]).length > 0)
await world.svc('bob', 'message', id, 'Kept.')
await until(async () => ((await world.svc('alice', 'thread', id))['turns'] as unknown[]).length > 1)
await world.svc('alice', 'end', id)
await until(async () => (await actions('bob')).includes('accept_end'))
await world.svc('bob', 'accept-end', id)
await until(async () => (await world.svc('alice', 'thread', id))['receipt'] !== undefined)
await world.svc('bob', 'delegate', String(alice['aid']), 'This one waits at the hub')
const verdict = await world.svc('alice', 'verify', id)
const evidence = await world.svc('alice', 'evidence')
await world.svc('alice', 'stop')
await world.svc('bob', 'stop')
hub.child.kill('SIGTERM')
await new Promise(resolve => hub.child.once('exit', resolve))

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
for (const [from, to] of [
  ['hub', 'hub'],
  ['alice', 'node'],
] as const) {
  cpSync(world.dir(from), join(target, to), { recursive: true, filter: path => !LEFT_OUT.test(path) })
}
const expected = {
  hub_aid: hub.aid,
  aid: alice['aid'],
  peer: bob['aid'],
  interaction_id: id,
  receipt_id: verdict['receipt_id'],
  chain_head: (evidence['head'] as { head_id: string }).head_id,
}
writeFileSync(join(target, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`)
process.stdout.write(`${readdirSync(target).join(', ')} in ${target}\n`)
