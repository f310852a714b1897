/**
 * `npm run -s attack -- [name …] [--seconds N] [--rounds N] [--hub <svc-hub.js>] [--json]`: what another address's sends lose while an attack runs, beside
 * what they lose to the attacking process alone. Bounded in time and number, loopback only. `machine`, and no name at all,
 * runs the attacks on a machine and its owner as well.
 * Of several rounds in turn the middle one counts, where the machine serves others too.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { present } from '../../protocol/encoding/present.ts'
import { endedWith } from '../lib/ended-with.ts'
import { asksForHelp, headOf } from '../lib/help.ts'
import {
  Connection,
  type HubProcess,
  median,
  prepareSends,
  registerAgents,
  startHubProcess,
} from '../lib/hub-load.ts'
import { attacks, startIdleListener } from './attacks.ts'
import { attackMachine } from './machine.ts'
import type { Attack, Orders } from './orders.ts'

const CLIENTS = 8
const PREPARED_A_SECOND = 4000
const SETTLE_MS = 500
const MARGIN_MS = 500
const RATE_KEPT_MIN = 0.5
const P99_MS_MAX = 500

const flag = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}
const withValue = ['--seconds', '--rounds', '--hub']
const program = flag('--hub')
const seconds = Number(flag('--seconds') ?? 5)
const rounds = Number(flag('--rounds') ?? 1)
const asked = process.argv
  .slice(2)
  .filter((word, i, words) => !/^--/.test(word) && !withValue.includes(words[i - 1] ?? ''))
const MACHINE = 'machine'
const unknown = asked.filter(name => name !== MACHINE && !attacks.some(attack => attack.name === name))

type Served = { perSecond: number; p99Ms: number; failed: number }
type Pair = {
  /** The same attacking process, aimed at a listener that only accepts and closes. */
  beside: Served
  under: Served
  /** Rate under attack ÷ rate beside the idle listener. */
  kept: number
}
type Outcome = Pair & {
  name: string
  what: string
  quiet: Served
  peakMib: number
  holds: boolean
}

/** Sends of another address for so many seconds; they are made beforehand, so that they fall into the attack. */
async function serve(hub: HubProcess, requests: Uint8Array[]): Promise<Served> {
  const opened = await Promise.allSettled(Array.from({ length: CLIENTS }, () => Connection.open(hub.url)))
  const connections = opened.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const times: number[] = []
  const start = performance.now()
  const endsAt = start + seconds * 1000
  let failed = CLIENTS - connections.length
  let next = 0
  await Promise.all(
    connections.map(async connection => {
      while (performance.now() < endsAt && next < requests.length) {
        const sent = performance.now()
        const answered = connection.send(requests[next++] as Uint8Array)
        const reply = await Promise.race([answered, pause(endsAt + 5_000 - sent)])
        times.push(performance.now() - sent)
        if (reply?.status !== 200) failed += 1
      }
    }),
  )
  const took = (performance.now() - start) / 1000
  for (const connection of connections) connection.close()
  times.sort((a, b) => a - b)
  return {
    perSecond: (times.length - failed) / took,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY,
    failed,
  }
}

const pause = (ms: number): Promise<undefined> =>
  new Promise(resolve => setTimeout(() => resolve(undefined), ms))

function attackWith(orders: Orders) {
  const attacker = new URL('./attacker.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [attacker], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.once(
    'exit',
    endedWith(() => child.kill('SIGKILL')),
  )
  child.stdin.end(JSON.stringify(orders))
  return text(child.stdout)
}

async function measured(attack: Attack): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-attack-'))
  await attack.fill?.(directory)
  const hub = await startHubProcess({ built: true, directory, ...present({ program, flags: attack.flags }) })
  try {
    const recipients = await registerAgents(hub, 16)
    const sends = () => prepareSends(hub, recipients, PREPARED_A_SECOND * seconds, 1024)
    await serve(hub, sends())
    const quiet = await serve(hub, sends())
    const settleMs = attack.settleMs ?? SETTLE_MS
    const idle = await startIdleListener()
    const pairs: Pair[] = []
    for (let round = 0; round < rounds; round++) {
      const orders = await attack.orders(hub, seconds + (settleMs + MARGIN_MS) / 1000)
      const beside = await during({ ...orders, url: idle.url }, settleMs, hub, sends())
      const under = await during(orders, settleMs, hub, sends())
      pairs.push({ beside, under, kept: under.perSecond / beside.perSecond })
    }
    await idle.close()
    const middle = median(pairs.map(({ kept }) => kept))
    const counted = pairs.find(({ kept }) => kept === middle) as Pair
    const holds = middle >= RATE_KEPT_MIN && counted.under.p99Ms <= P99_MS_MAX
    return { name: attack.name, what: attack.what, quiet, ...counted, peakMib: hub.peakMib(), holds }
  } finally {
    await hub.stop()
  }
}

async function during(
  orders: Orders,
  settleMs: number,
  hub: HubProcess,
  sends: Uint8Array[],
): Promise<Served> {
  const attacking = attackWith(orders)
  await pause(settleMs)
  const served = await serve(hub, sends)
  const made = await attacking
  if (process.argv.includes('--verbose')) process.stderr.write(made)
  return served
}

if (asksForHelp(process.argv.slice(2))) {
  const rows = attacks.map(({ name, what }) => `  ${name}\n      ${what}\n`)
  process.stdout.write(`${headOf(import.meta.filename)}\n\n${rows.join('')}`)
} else if (unknown.length > 0) {
  process.stderr.write(
    `attack: unknown: ${unknown.join(', ')}; attacks: ${[...attacks.map(each => each.name), MACHINE].join(', ')}\n`,
  )
  process.exitCode = 1
} else {
  const outcomes: Outcome[] = []
  for (const attack of attacks.filter(each => asked.length === 0 || asked.includes(each.name))) {
    const outcome = await measured(attack)
    outcomes.push(outcome)
    if (process.argv.includes('--json')) continue
    const { kept, under, beside, quiet, peakMib, holds } = outcome
    process.stdout.write(
      `${holds ? 'ok  ' : 'MISS'} ${attack.name}: ${under.perSecond.toFixed(0)} sends/s under attack, ${beside.perSecond.toFixed(0)} beside the same process aimed elsewhere (${kept.toFixed(2)} of it), ${quiet.perSecond.toFixed(0)} in peace; p99 ${under.p99Ms.toFixed(0)} ms; ${under.failed} failed; hub at most ${peakMib.toFixed(0)} MiB\n`,
    )
  }
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify(outcomes, null, 2)}\n`)
  if (outcomes.some(outcome => !outcome.holds)) process.exitCode = 1
  const isWhole = asked.length === 0 && !process.argv.includes('--json')
  if ((isWhole || asked.includes(MACHINE)) && !attackMachine()) process.exitCode = 1
}
