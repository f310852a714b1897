/** `svc demo`: the main job on this machine, step by step, each step checked; then it stays up to be looked at. */

import type { Input, Run } from '../command.ts'
import { type Io, printReply, UsageRefused } from '../io.ts'
import { federationSteps } from './federation-steps.ts'
import { openSteps } from './open-steps.ts'
import { paySteps } from './pay-steps.ts'
import { processesSteps } from './processes-steps.ts'
import { openBoth, requireTmux } from './side-by-side.ts'
import type { Facts, Step } from './step.ts'
import { steps } from './steps.ts'
import { builtPrograms, World } from './world.ts'

type StepResult = { name: string; ok: boolean; ms: number; detail: string }

export const demo: Run = async (io, input) => {
  const json = input.flags.has('--json')
  const spoil = input.flags.get('--break')?.[0]
  const { steps: chosen, hubs } = chosenDemo(input.flags)
  if (spoil !== undefined && !chosen.some(step => step.name === spoil))
    throw new UsageRefused(
      `expected a step of this demo for --break: ${chosen.map(({ name }) => name).join(', ')}`,
    )
  const isBoth = input.flags.has('--tui')
  if (isBoth) requireTmux(process.stdin.isTTY === true && process.stdout.isTTY === true)
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort())
  await using world = new World(builtPrograms(), 'svc-demo-')
  const facts = {} as Facts
  try {
    const outcomes = await runSteps(io, world, facts, {
      steps: chosen,
      hubs,
      json,
      spoil,
      stopped: stopped.signal,
    })
    const ok = outcomes.length === chosen.length && outcomes.every(outcome => outcome.ok)
    if (json) printReply(io, { ok, interaction: facts.interaction, steps: outcomes })
    else if (ok && isBoth) await openBoth(world, stopped.signal)
    else if (ok && !input.flags.has('--exit')) await stayUp(io, world, facts, stopped.signal)
    return ok ? 0 : 1
  } finally {
    await facts.tools?.[Symbol.asyncDispose]()
  }
}

type Chosen = { steps: readonly Step[]; hubs: string }

/** Each demo of its own by the flag that asks for it. */
const byFlag: readonly (Chosen & { flag: string })[] = [
  { flag: '--pay', steps: paySteps, hubs: 'a private hub' },
  { flag: '--hubs', steps: federationSteps, hubs: 'three hubs' },
  { flag: '--wire', steps: openSteps, hubs: 'a hub that seals nothing' },
  { flag: '--processes', steps: processesSteps, hubs: 'a hub of three processes' },
]

function chosenDemo(flags: Input['flags']): Chosen {
  const [chosen, other] = byFlag.filter(({ flag }) => flags.has(flag))
  if (other !== undefined) throw new UsageRefused(`expected ${chosen?.flag} or ${other.flag}, not both`)
  return chosen ?? { steps, hubs: 'a private hub' }
}

type Options = {
  steps: readonly Step[]
  hubs: string
  json: boolean
  spoil: string | undefined
  stopped: AbortSignal
}

async function runSteps(io: Io, world: World, facts: Facts, options: Options): Promise<StepResult[]> {
  const outcomes: StepResult[] = []
  if (!options.json)
    io.out(`svc demo: ${options.hubs} and two nodes on this machine (nothing leaves loopback)\n\n`)
  for (const [i, step] of options.steps.entries()) {
    if (options.stopped.aborted) break
    const started = performance.now()
    const outcome = await step.run(world, facts, options.spoil === step.name).then(
      detail => ({ ok: true, detail }),
      error => ({ ok: false, detail: (error as Error).message }),
    )
    const ms = Math.round(performance.now() - started)
    outcomes.push({ name: step.name, ok: outcome.ok, ms, detail: outcome.detail })
    if (!options.json) {
      const place = `${String(i + 1).padStart(2)}/${options.steps.length}`
      io.out(
        `${place} ${outcome.ok ? 'ok  ' : 'FAIL'} ${step.title}  (${ms} ms)\n           ${outcome.detail}\n`,
      )
    }
    if (!outcome.ok) break
  }
  return outcomes
}

async function stayUp(io: Io, world: World, facts: Facts, stopped: AbortSignal): Promise<void> {
  const as = (name: string) => `SVC_HOME=$DEMO/${name} ${io.program}`
  io.out(`
Everything above was compared with the other side. It stays up until Ctrl-C; look around in another terminal:
  export DEMO=${world.root} SVC_RUNTIME_DIR=${world.dir('run')}
  ${as('alice')} thread ${facts.interaction}     the conversation
  ${as('bob')} inbox                               bob's side
  ${as('alice')} evidence                          alice's chain
  ${facts.hubUrl}/agents/${facts.bob}
Your own node:
  ${io.program} up                                      start it, identity in ~/.svc
  ${io.program} hub-register <hub url> --name <name>    join a hub
`)
  if (stopped.aborted) return
  const alive = setInterval(() => {}, 60_000)
  await new Promise(resolve => stopped.addEventListener('abort', resolve, { once: true }))
  clearInterval(alive)
  io.out('\nstopping and cleaning up\n')
}
