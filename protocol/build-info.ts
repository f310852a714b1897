/** Version, commit, time and name of the build; the build script writes them in, a run from the sources says so. */

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

export const RELEASE = '0.3.0'

export const buildInfo: BuildInfo = globalThis.SVC_BUILD ?? {
  version: RELEASE,
  commit: 'source',
  builtAt: 'not built',
  build: 'source',
  modules: ['service', 'cas', 'blackboard', 'org', 'mcp', 'x402'],
}
