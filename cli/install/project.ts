/** `svc install --project`: the files of one project, and an identity of its own whose news concern nothing else. */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, relative } from 'node:path'
import { DEFAULT_IDENTITY, identityNames } from '../../daemon/home/home.ts'
import { UsageRefused } from '../io.ts'
import { type AgentTool, type Launch, toolsAt } from './agents.ts'
import { withStandingIdentity } from './identity.ts'
import { type Env, projectPlaces } from './places.ts'

export type Project = {
  readonly folder: string
  readonly id: string
  readonly tools: readonly AgentTool[]
}

const NAME_CHARACTERS_MAX = 40
const RESERVED: readonly string[] = [DEFAULT_IDENTITY, 'ids']

/** The project in this folder; its identity is the one named, the one that stands in its files, or a new one. */
export function projectAt(cwd: string, env: Env, launch: Launch): Project {
  const folder = realpathSync(cwd)
  const home = env['HOME'] || homedir()
  if (!relative(folder, existsSync(home) ? realpathSync(home) : home).startsWith('..'))
    throw new UsageRefused(
      `${folder} is your home or above it, and no project; go into the folder of the project first`,
      'svc help install',
    )
  const tools = toolsAt(projectPlaces(folder))
  const standing = tools.map(tool => withStandingIdentity(tool, env, launch).id).find(id => id !== undefined)
  return { folder, tools, id: launch.id ?? standing ?? newName(basename(folder), env) }
}

/** A name like that of the folder which no identity has. */
function newName(folder: string, env: Env): string {
  const plain = folder
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
    .slice(0, NAME_CHARACTERS_MAX)
  const stem = plain === '' || RESERVED.includes(plain) ? `project-${plain || '1'}` : plain
  const taken = new Set(identityNames(env))
  for (let n = 1; ; n++) {
    const name = n === 1 ? stem : `${stem}-${n}`
    if (!taken.has(name)) return name
  }
}
