/** One node for each identity: a copy of a directory that runs beside its original would sign what contradicts it. */
import { resolve } from 'node:path'
import { Failure } from '../../protocol/encoding/errors.ts'
import { daemonsOf, type Environment } from './home.ts'
import { holderOf } from './lock.ts'

export class IdentityRuns extends Failure {
  override name = 'IdentityRuns'
}

/** Refuses where another process of this user holds a node of the identity open, whatever its directory is called. */
export function requireOnlyNode(env: Environment, aid: string, dir: string): void {
  const other = daemonsOf(env).find(
    entry =>
      entry.aid === aid &&
      entry.pid !== process.pid &&
      resolve(entry.data_dir) !== resolve(dir) &&
      holderOf(entry.data_dir)?.isNode === true,
  )
  if (other === undefined) return
  throw new IdentityRuns(
    `this identity already runs on this machine (pid ${other.pid}, ${other.data_dir}), and both would sign; end that one first: kill ${other.pid}`,
  )
}
