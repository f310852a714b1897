/**
 * How far an identity had come, kept where a copy of its data directory does not reach: an older copy that is put back
 * would sign other records under the same sequence numbers, and nothing in it says that it is one.
 */
import * as fs from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { ensureSecretDirectory, findFile } from '../platform/files.ts'
import { type Environment, runtimeDirectories, userHome } from './home.ts'

const FOLDER = 'heads'
const WRITE_PAUSE_MS = 1000

/** Length of the chain and id of its last record. */
export type KeptHead = { length: number; headId: string }

/** The runtime directories and the state directory of the user. */
export function headFolders(env: Environment): string[] {
  const state = stateDirectory(env)
  return [...runtimeDirectories(env), ...(state === undefined ? [] : [state])].map(at => join(at, FOLDER))
}

/** Where a user's programs keep what outlives a start of the machine; a runtime directory of one's own may not. */
function stateDirectory(env: Environment): string | undefined {
  const named = env['XDG_STATE_HOME']
  if (named && isAbsolute(named)) return join(named, 'svc')
  // whoever names a runtime directory and no home wants nothing of the user's own
  const home = env['SVC_RUNTIME_DIR'] ? env['HOME'] : userHome(env)
  return home ? join(home, '.local', 'state', 'svc') : undefined
}

export class KeptHeads {
  #folders: string[]
  #identity: { readonly aid: string }
  readonly #timers: Timers
  #timer: Timer | undefined

  constructor(env: Environment, identity: { readonly aid: string }, timers: Timers) {
    this.#folders = headFolders(env)
    this.#identity = identity
    this.#timers = timers
  }

  get #paths(): string[] {
    return this.#folders.map(folder => headPath(folder, this.#identity.aid))
  }

  /** The furthest that any place names. */
  read(): KeptHead | undefined {
    const found = this.#paths.flatMap(path => parse(path) ?? [])
    return found.sort((a, b) => b.length - a.length)[0]
  }

  /** Follows the chain, a moment later: what is kept is never ahead of what is durable. */
  follow(head: () => KeptHead): void {
    if (this.#timer !== undefined) return
    this.#timer = this.#timers.after(WRITE_PAUSE_MS, () => {
      this.#timer = undefined
      const current = headNow(head)
      if (current !== undefined) this.keep(current)
    })
    this.#timer.unref()
  }

  /** Writes it wherever that can be done: one place that is left is enough. */
  keep(head: KeptHead): void {
    this.stop()
    const text = `${JSON.stringify({ length: head.length, head_id: head.headId })}\n`
    for (const path of this.#paths) write(path, text)
  }

  /** Follows no longer: what was kept last stays. */
  stop(): void {
    this.#timers.clear(this.#timer)
    this.#timer = undefined
  }
}

const headPath = (folder: string, aid: string): string => join(folder, `${aid}.json`)

/** What was kept of an identity no longer counts. */
export function forgetHead(env: Environment, aid: string): void {
  for (const folder of headFolders(env)) fs.rmSync(headPath(folder, aid), { force: true })
}

/** A store that cannot be read for a moment ends nothing: the next record brings the head along. */
function headNow(head: () => KeptHead): KeptHead | undefined {
  try {
    return head()
  } catch {
    return undefined
  }
}

function write(path: string, text: string): void {
  const temporary = `${path}.tmp-${process.pid}`
  try {
    ensureSecretDirectory(join(path, '..'))
    fs.writeFileSync(temporary, text, { mode: 0o600 })
    fs.renameSync(temporary, path)
  } catch {
    // A full disk or a folder of somebody else: this place knows less, and nothing depends on it alone.
  }
}

function parse(path: string): KeptHead | undefined {
  try {
    const { length, head_id: headId } = JSON.parse(findFile(path)?.toString('utf8') ?? '') as Record<
      string,
      unknown
    >
    return Number.isSafeInteger(length) && typeof headId === 'string'
      ? { length: length as number, headId }
      : undefined
  } catch {
    return undefined
  }
}
