/** Taking svc off a machine: what stands outside of the data directories, and the data directories themselves. */
import * as fs from 'node:fs'
import { basename, join } from 'node:path'
import { findFile } from '../platform/files.ts'
import {
  daemonsOf,
  type Environment,
  homeDirectory,
  identityDirectory,
  identityNames,
  runtimeDirectories,
} from './home.ts'
import { headFolders } from './kept-heads.ts'
import { lockDirectory } from './lock.ts'

/** What a node and the commands put into a data directory. */
const OWN_FILES =
  /^(identity\.(kel|next)|mailbox\.keys|config\.json|(control|a2a)_token\.txt|control\.sock|interactions|evidence\.ael\.jsonl.*|drafts|seen\.json|stopped|exported|daemon\.log(\.1)?|lock(-journal)?|run|current|projects|autoreply|daemon\.lock|store-copy\.db\.tmp-.*)$/

/** Removes the runtime folders of a user whose nodes have ended; the folders that are gone. */
export function removeRuntime(env: Environment): string[] {
  if (daemonsOf(env).length > 0) return []
  // naming the folders makes them, so they are named once
  const heads = headFolders(env)
  return runtimeDirectories(env).filter(folder => {
    for (const name of ['daemons', 'daemon.json'])
      fs.rmSync(join(folder, name), { recursive: true, force: true })
    for (const name of fs.readdirSync(folder).filter(name => name.endsWith('.sock')))
      fs.rmSync(join(folder, name))
    forgetDoubles(join(folder, 'heads'), heads)
    return removeEmpty(folder)
  })
}

/** A head that stands in another folder too is not needed in this one; the last that is left guards its identity. */
function forgetDoubles(folder: string, folders: readonly string[]): void {
  const others = folders.filter(other => other !== folder)
  for (const name of namesIn(folder)) {
    const own = findFile(join(folder, name))
    const isDouble = others.some(other => own?.equals(findFile(join(other, name)) ?? Buffer.alloc(0)))
    if (isDouble) fs.rmSync(join(folder, name))
  }
  removeEmpty(folder)
}

/** Removes every identity of the home with its keys; what is no file of svc stays and is named. */
export function eraseHome(env: Environment): { removed: string[]; left: string[] } {
  const home = homeDirectory(env)
  const names = identityNames(env)
  const locks = names.map(name => lockDirectory(identityDirectory(env, name), 'command'))
  const dirs = [...new Set([...names.map(name => identityDirectory(env, name)), home])]
  const isOwn = (dir: string, name: string) => OWN_FILES.test(name) || (dir === home && name === 'ids')
  try {
    const files = dirs.flatMap(dir => namesIn(dir).map(name => ({ dir, name })))
    for (const { dir, name } of files)
      if (OWN_FILES.test(name)) fs.rmSync(join(dir, name), { recursive: true, force: true })
    const left = files.filter(({ dir, name }) => !isOwn(dir, name)).map(({ dir, name }) => join(dir, name))
    const named = dirs.filter(dir => dir !== home)
    return { removed: [...named, join(home, 'ids'), home].filter(removeEmpty), left }
  } finally {
    for (const lock of locks) lock[Symbol.dispose]()
  }
}

/** What this machine remembers of how far these identities had come. */
export function forgetHeads(env: Environment, aids: readonly string[]): void {
  for (const folder of headFolders(env)) {
    for (const aid of aids) fs.rmSync(join(folder, `${basename(aid)}.json`), { force: true })
    removeEmpty(folder)
    removeEmpty(join(folder, '..'))
  }
}

const namesIn = (folder: string): string[] => (fs.existsSync(folder) ? fs.readdirSync(folder) : [])

/** Whether there was a folder, and it is gone now. */
export function removeEmpty(folder: string): boolean {
  if (!fs.existsSync(folder) || fs.readdirSync(folder).length > 0) return false
  fs.rmdirSync(folder)
  return true
}
