/** `svc uninstall`: takes svc out of the coding agents, ends its nodes and removes what it keeps outside of its data. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { homeDirectory, identityDirectory, identityNames } from '../../daemon/home/home.ts'
import { eraseHome, forgetHeads, removeEmpty, removeRuntime } from '../../daemon/home/removal.ts'
import { peekLog } from '../../daemon/identity/identity.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Input, Run } from '../command.ts'
import { compileCacheFolder } from '../compile-cache.ts'
import { agentTools } from '../install/agents.ts'
import { planRemoval } from '../install/plan.ts'
import { unitsOf } from '../install/units.ts'
import { CommandFailed, hint, type Io, printReply } from '../io.ts'
import { carryOut, isChange, launchOf, stateOf } from './install.ts'
import { stopAll } from './node.ts'
import { askOnTerminal } from './values.ts'

const WORD = 'erase'

type Identity = { id: string; aid: string | undefined; data_dir: string }

export const uninstall: Run = async (io, input) => {
  const isTrial = input.flags.has('--dry-run')
  const erases = input.flags.has('--data')
  const identities = identitiesOf(io)
  if (erases && !isTrial) await requireWord(io, identities)
  const agents = removeFromAgents(io, input, isTrial)
  const stopped = isTrial ? [] : await stopAll(io)
  const data = erases && !isTrial ? erase(io, identities) : { state: 'kept' as const, left: [] }
  const removed = isTrial ? [] : removeTraces(io)
  const services = unitsOf(io.env, launchOf(io, input).program)
  printReply(io, {
    dry_run: isTrial,
    ...agents,
    stopped,
    removed,
    data: { dir: homeDirectory(io.env), identities, ...data },
    ...present({ services: services.length === 0 ? undefined : services }),
  })
  if (!isTrial) sayWhatIsLeft(io, { erases, identities, services })
  return agents.failed.length > 0 || data.left.length > 0 ? 1 : 0
}

function identitiesOf(io: Io): Identity[] {
  return identityNames(io.env).map(id => {
    const dir = identityDirectory(io.env, id)
    return { id, aid: aidIn(dir), data_dir: dir }
  })
}

/** A key file that can't be read is removed like any other. */
function aidIn(dir: string): string | undefined {
  try {
    return peekLog(dir)?.aid
  } catch {
    return undefined
  }
}

async function requireWord(io: Io, identities: readonly Identity[]): Promise<void> {
  const named = identities.map(({ id, aid }) => `  ${id}${aid === undefined ? '' : `  ${aid}`}`).join('\n')
  const question = `svc: this removes ${homeDirectory(io.env)} with these identities, their keys, messages and evidence:
${named === '' ? '  none' : named}
Nobody can bring them back. Credits that they hold at a hub are lost with their keys.
Type ${WORD} to go on: `
  if ((await askOnTerminal(io, io.stdin.isTTY ? question : `${question}\n`)) === WORD) return
  throw new CommandFailed(
    `the word ${WORD} was not typed; nothing was changed`,
    'to keep a copy first: svc backup <file>',
  )
}

type AgentRemoval = {
  changes: { tool: string; path: string; state: string }[]
  failed: { tool: string; why: string }[]
}

/** Each agent by itself: one whose files can't be read keeps no other from being cleared. */
function removeFromAgents(io: Io, input: Input, isTrial: boolean): AgentRemoval {
  const launch = launchOf(io, input)
  const done: AgentRemoval = { changes: [], failed: [] }
  for (const tool of agentTools)
    try {
      const changes = planRemoval(tool, io.env, launch).filter(isChange)
      if (!isTrial && changes.length > 0) carryOut(changes, true)
      for (const change of changes)
        done.changes.push({ tool: tool.id, path: change.path, state: stateOf(change) })
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error
      done.failed.push({ tool: tool.id, why: error.message })
    }
  return done
}

/** Runtime folders, and code that was compiled for a quicker start. */
function removeTraces(io: Io): string[] {
  const removed = removeRuntime(io.env)
  const cache = compileCacheFolder(io.env)
  if (cache === undefined) return removed
  fs.rmSync(cache, { recursive: true, force: true })
  removeEmpty(join(cache, '..'))
  return [...removed, cache]
}

function erase(io: Io, identities: readonly Identity[]): { state: 'erased' | 'left'; left: string[] } {
  const { left } = eraseHome(io.env)
  forgetHeads(
    io.env,
    identities.flatMap(({ aid }) => aid ?? []),
  )
  return { state: left.length === 0 ? 'erased' : 'left', left }
}

type Left = { erases: boolean; identities: readonly Identity[]; services: readonly { stop: string }[] }

function sayWhatIsLeft(io: Io, { erases, identities, services }: Left): void {
  if (services.length > 0)
    hint(io, `services that start svc; to end them:\n${services.map(({ stop }) => stop).join('\n')}`)
  if (!erases && identities.length > 0)
    hint(io, 'keys and data are still there; to erase them too:\nsvc uninstall --data')
  if (fs.realpathSync(process.argv[1] as string).includes('/node_modules/'))
    hint(io, 'to remove the program itself:\nnpm uninstall --global svc')
}
