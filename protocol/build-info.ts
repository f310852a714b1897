/** Version, commit, time and name of the build; the build script writes them in, a run from the sources says so. */

/** What a build says of itself; `builtAt` is an ISO 8601 time, or `not built`. */
export type BuildInfo = {
  version: string
  commit: string
  builtAt: string
  build: string
  /** Modules that were compiled in. */
  modules: readonly string[]
}

declare global {
  var SVC_BUILD: BuildInfo | undefined
}

/** Version of the sources. */
export const RELEASE = '0.3.0'

/** Of the running program; from the sources, `commit` and `build` are `source`. */
export const buildInfo: BuildInfo = globalThis.SVC_BUILD ?? {
  version: RELEASE,
  commit: 'source',
  builtAt: 'not built',
  build: 'source',
  modules: ['service', 'cas', 'blackboard', 'org', 'taskboard', 'svclink', 'mcp', 'x402', 'p2p'],
}
