/** `svc install`: the instructions of svc in a coding agent's own files, and its MCP server in its configuration. */
import * as fs from 'node:fs'
import { delimiter, join } from 'node:path'
import { createTwoFilesPatch } from 'diff'
import { present } from '../../protocol/encoding/present.ts'
import type { Input, Run } from '../command.ts'
import {
  type AgentTool,
  agentTools,
  type Env,
  type Launch,
  READING_TOOLS,
  SENDING_TOOLS,
} from '../install/agents.ts'
import { backupPath, keepBackup, leaveFolders, writeText } from '../install/files.ts'
import { type Change, planInstall, planRemoval, standing, type Wish } from '../install/plan.ts'
import { hint, type Io, printReply, UsageRefused } from '../io.ts'
import { flag } from './values.ts'

export const install: Run = async (io, input) => {
  const launch = launchOf(io, input)
  const tool = chosen(input)
  if (input.flags.has('--list')) return list(io, launch, tool === undefined ? agentTools : [tool])
  if (tool === undefined) return suggest(io, input, launch)
  const isRemoval = input.flags.has('--remove')
  const wish = wishOf(input, tool, isRemoval)
  const changes = isRemoval ? planRemoval(tool, io.env, launch) : planInstall(tool, io.env, launch, wish)
  const isTrial = input.flags.has('--dry-run')
  if (!isTrial) carryOut(changes, isRemoval)
  const diff = changes.filter(isChange).map(patch).join('')
  printReply(io, {
    tool: tool.id,
    dry_run: isTrial,
    changes: changes.map(change => ({ part: change.part, path: change.path, state: stateOf(change) })),
    ...present({ diff: isTrial ? diff : undefined }),
    ...(wish.allowSend ? opened(tool) : wish.mcp ? closed(tool) : {}),
  })
  if (!isTrial && !isRemoval && !wish.mcp)
    hint(io, `to register the MCP server too:\nsvc install ${tool.id} --mcp`)
  return 0
}

/** What `--allow-send` opens. */
function opened(tool: AgentTool): { allows: string[]; note?: string } {
  const note = `${tool.name} then calls every tool of svc without asking, also one that a later release adds`
  const allows = [...READING_TOOLS, ...SENDING_TOOLS]
  return { allows, ...present({ note: tool.trustsAll ? note : undefined }) }
}

/** What stays closed where no user is there to be asked. */
const closed = ({ unattended }: AgentTool): { note?: string } =>
  unattended === undefined ? {} : { note: `run without a user, as in a script, its model ${unattended}` }

function wishOf(input: Input, tool: AgentTool, isRemoval: boolean): Wish {
  const wish = {
    mcp: input.flags.has('--mcp'),
    allowSend: input.flags.has('--allow-send'),
    hooks: input.flags.has('--hooks'),
  }
  const refused: [boolean, string][] = [
    [wish.allowSend && !wish.mcp, '--allow-send needs --mcp'],
    [
      wish.allowSend && tool.allowSend === undefined,
      `the configuration of ${tool.name} has no word for --allow-send`,
    ],
    [
      wish.hooks && tool.hooks === undefined,
      `svc knows no hooks of ${tool.name}; it knows those of ${idsOf(tool => tool.hooks !== undefined)}`,
    ],
    [isRemoval && wish.mcp, '--remove takes out everything; leave out --mcp'],
    [isRemoval && wish.hooks, '--remove takes out everything; leave out --hooks'],
  ]
  const [, sentence] = refused.find(([holds]) => holds) ?? []
  if (sentence !== undefined) throw new UsageRefused(sentence, 'svc help install')
  return wish
}

/** What is installed here, and what would be done. */
function suggest(io: Io, input: Input, launch: Launch): number {
  if (input.flags.has('--remove'))
    throw new UsageRefused(
      'expected the tool to remove svc from; svc install --list says where it is',
      'svc install <tool> --remove',
    )
  const found = agentTools.filter(tool => isInstalled(tool, io.env))
  const none = `none of ${ids()} is installed here; svc install <tool> works all the same`
  const rows = found.map(tool => ({ tool: tool.id, name: tool.name, ...standing(tool, io.env, launch) }))
  printReply(io, {
    found: rows,
    would: rows.filter(({ why }) => why === undefined).map(({ tool }) => `svc install ${tool} --mcp`),
    ...present({ note: found.length === 0 ? none : undefined }),
  })
  return 0
}

function list(io: Io, launch: Launch, listed: readonly AgentTool[]): number {
  const tools = listed.map(tool => ({
    tool: tool.id,
    name: tool.name,
    installed: isInstalled(tool, io.env),
    ...standing(tool, io.env, launch),
    persona_file: tool.persona(io.env),
  }))
  printReply(io, { tools })
  return 0
}

function chosen(input: Input): AgentTool | undefined {
  const named = [flag(input, '--agent', 'agent').agent, input.positionals[0]].filter(
    name => name !== undefined,
  )
  const [name, other] = named
  if (other !== undefined && other !== name)
    throw new UsageRefused(`two tools were named: ${name} and ${other}`, 'svc help install')
  if (name === undefined) return undefined
  const tool = agentTools.find(({ id }) => id === name)
  if (tool === undefined)
    throw new UsageRefused(`unknown tool: ${name}; expected ${ids()}`, 'svc install --list')
  return tool
}

const idsOf = (fits: (tool: AgentTool) => boolean) =>
  agentTools
    .filter(fits)
    .map(({ id }) => id)
    .join(', ')
const ids = () => idsOf(() => true)

/** This very program in absolute paths, for the identity that was selected. */
export function launchOf(io: Io, input: Input): Launch {
  const id = input.id ?? io.env['SVC_ID']
  const program = fs.realpathSync(process.argv[1] as string)
  const env = Object.fromEntries(
    ['SVC_HOME', 'SVC_DATA_DIR'].flatMap(name => (io.env[name] === undefined ? [] : [[name, io.env[name]]])),
  ) as Record<string, string>
  return { command: process.execPath, program, id, env }
}

function isInstalled(tool: AgentTool, env: Env): boolean {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(folder => folder !== '')
  return folders.some(folder => fs.existsSync(join(folder, tool.program)))
}

export function carryOut(changes: readonly Change[], isRemoval: boolean): void {
  for (const change of changes.filter(isChange)) {
    if (change.backup && !isRemoval) keepBackup(change.path)
    writeText(change.path, change.after)
    if (change.backup && isRemoval) fs.rmSync(backupPath(change.path), { force: true })
  }
  if (isRemoval) for (const { path } of changes) leaveFolders(path)
}

export const isChange = ({ before, after }: Change) => before !== after

export function stateOf({ before, after }: Change): 'created' | 'changed' | 'removed' | 'unchanged' {
  if (before === after) return 'unchanged'
  if (before === undefined) return 'created'
  return after === undefined ? 'removed' : 'changed'
}

const patch = ({ path, before, after }: Change) =>
  createTwoFilesPatch(path, path, before ?? '', after ?? '', undefined, undefined, { context: 2 })
