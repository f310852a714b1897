/** Memory: an idle daemon, and both sides of a 64 MiB attachment. */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { atMost, type Row } from './lib/hub-load.ts'
import { cpuSeconds, meetingWorld, operate, peakMib, residentMib } from './lib/node-world.ts'

const MIB = 1024 * 1024
const ATTACHMENT_MIB = 64
/** Half a minute after its last work a node lets go of code that it did not run again. */
const SETTLE_MS = 45_000
const IDLE_S = 20
const ARRIVAL_MS = 120_000

export async function run(): Promise<Row[]> {
  const { world, alice, bob } = await meetingWorld()
  await using _world = world
  await operate(alice, '/delegate', { to: bob.aid, task: 'first contact' })
  await pause(SETTLE_MS)
  const cpu = cpuSeconds(bob.pid)
  await pause(IDLE_S * 1000)
  const idle = [
    atMost('daemon idle, resident', residentMib(bob.pid), 'MiB', 90),
    atMost('daemon idle, processor time', ((cpuSeconds(bob.pid) - cpu) / IDLE_S) * 100, '% of a core', 0.5),
  ]
  const path = world.dir('big.bin')
  const file = openSync(path, 'w')
  for (let i = 0; i < ATTACHMENT_MIB; i++) writeSync(file, randomBytes(MIB))
  closeSync(file)
  const before = [peakMib(alice.pid), peakMib(bob.pid)] as const
  const { interaction_id } = await operate(alice, '/delegate', {
    to: bob.aid,
    task: 'keep this',
    attach: [path],
  })
  await arrival(bob, String(interaction_id), path)
  return [
    ...idle,
    atMost('64 MiB attachment, sender grows by', peakMib(alice.pid) - before[0], 'MiB', 32),
    atMost('64 MiB attachment, receiver grows by', peakMib(bob.pid) - before[1], 'MiB', 32),
  ]
}

/** Waits until the receiver has the verified file, and compares it with what was sent. */
async function arrival(node: Parameters<typeof operate>[0], id: string, sent: string): Promise<void> {
  type Thread = { turns: { attachments: { path: string | null }[] }[] }
  for (const deadline = Date.now() + ARRIVAL_MS; Date.now() < deadline; await pause(200)) {
    const thread = (await operate(node, '/thread', { interaction_id: id, max_chars: 10 }).catch(
      () => undefined,
    )) as Thread | undefined
    const path = thread?.turns.flatMap(turn => turn.attachments)[0]?.path
    if (path == null) continue
    const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
    if (digest(path) !== digest(sent)) throw new Error('the attachment is another one')
    return
  }
  throw new Error('the attachment did not arrive')
}
