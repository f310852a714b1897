/** `svc version`: version, commit, build time, compiled modules. */
import { buildInfo } from '../protocol/build-info.ts'
import type { Run } from './command.ts'
import { printReply } from './io.ts'

export const version: Run = async io => {
  printReply(io, {
    version: buildInfo.version,
    commit: buildInfo.commit,
    built_at: buildInfo.builtAt,
    build: buildInfo.build,
    node: process.versions.node,
    modules: buildInfo.modules.join(', ') || '(none)',
  })
  return 0
}
