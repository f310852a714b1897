/** One node for each identity: a copy of a directory that runs beside its original would sign what contradicts it. */
import { resolve } from 'node:path'
import { Failure } from '../../protocol/encoding/errors.ts'
import { shellWord } from '../../protocol/shell.ts'
import { type DaemonEntry, daemonsOf, type Environment } from './home.ts'
import { holderOf } from './lock.ts'

export class IdentityRuns extends Failure {
  override name = 'IdentityRuns'
}

/** Another process of this user that holds a node of the identity open, whatever its directory is called. */
export function otherNode(env: Environment, aid: string, dir: string): DaemonEntry | undefined {
  return daemonsOf(env).find(
    entry =>
      entry.aid === aid &&
      entry.pid !== process.pid &&
      resolve(entry.data_dir) !== resolve(dir) &&
      holderOf(entry.data_dir)?.isNode === true,
  )
}

export function sayOther({ pid, data_dir: dir }: DaemonEntry): string {
  return `this identity already runs on this machine (pid ${pid}, ${dir}), and both would sign`
}

/** What ends the node of a directory, whatever home it is in. */
export const stopOf = ({ data_dir: dir }: DaemonEntry): string => `SVC_DATA_DIR=${shellWord(dir)} svc stop`

/** Refuses where there is one. */
export function requireOnlyNode(env: Environment, aid: string, dir: string): void {
  const other = otherNode(env, aid, dir)
  if (other !== undefined) throw new IdentityRuns(`${sayOther(other)}; end that one first: ${stopOf(other)}`)
}
