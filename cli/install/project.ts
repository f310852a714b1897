/** `svc install --project`: the files of one project, and an identity of its own whose news concern nothing else. */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename } from 'node:path'
import { checkIdentityName, DEFAULT_IDENTITY, homeDirectory, identityNames } from '../../daemon/home/home.ts'
import { UsageRefused } from '../io.ts'
import { type AgentTool, type Launch, toolsAt } from './agents.ts'
import { isInside, realPlace } from './files.ts'
import { givenNames, knownIdentity, type Root, rootAt } from './known-projects.ts'
import { type Env, projectPlaces } from './places.ts'

export type Project = {
  readonly root: Root
  readonly id: string
  readonly tools: readonly AgentTool[]
}

const NAME_CHARACTERS_MAX = 40
const RESERVED: readonly string[] = [DEFAULT_IDENTITY, 'ids']

/**
 * The project in this folder; its identity is the one named, the one that this user gave it before, or a new one. What
 * stands in its files says nothing about that: whoever wrote them may be a stranger.
 */
export function projectAt(cwd: string, env: Env, launch: Launch): Project {
  const folder = realpathSync(cwd)
  const home = env['HOME'] || homedir()
  if (isInside(folder, existsSync(home) ? realpathSync(home) : home))
    throw new UsageRefused(
      `${folder} is your home or above it, and no project; go into the folder of the project first`,
      'svc help install',
    )
  if (isInside(folder, realPlace(homeDirectory(env))))
    throw new UsageRefused(
      `the data directory ${homeDirectory(env)} lies in the project, whose files others may have written; name one outside of it with SVC_HOME`,
      'svc help install',
    )
  const root = rootAt(env, folder)
  const id = checkIdentityName(launch.id ?? knownIdentity(root) ?? newName(basename(folder), env), 'select')
  return { root, tools: toolsAt(projectPlaces(root)), id }
}

/** A name like that of the folder which no identity has. */
function newName(folder: string, env: Env): string {
  const plain = folder
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
    .slice(0, NAME_CHARACTERS_MAX)
  const stem = plain === '' || RESERVED.includes(plain) ? `project-${plain || '1'}` : plain
  const taken = new Set([...identityNames(env), ...givenNames(env)])
  for (let n = 1; ; n++) {
    const name = n === 1 ? stem : `${stem}-${n}`
    if (!taken.has(name)) return name
  }
}
