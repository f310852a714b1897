/**
 * Which modules a build holds: `--modules all`, `none` or names; without it all but those that have to be asked for. One
 * that is left out, or asked for, is a condition of the imports in package.json.
 */

/** In every build that does not leave them out. */
export const MODULES = [
  'service',
  'cas',
  'blackboard',
  'org',
  'taskboard',
  'svclink',
  'mcp',
  'x402',
  'p2p',
] as const
/** In a build that asks for them. */
export const OPT_IN = ['shell'] as const
const ALL: readonly string[] = [...MODULES, ...OPT_IN]

export type Chosen = { names: string[]; conditions: string[] }

export function chosenModules(argv: readonly string[]): Chosen {
  const at = argv.indexOf('--modules')
  const wanted = at < 0 ? MODULES : namesIn(argv[at + 1] ?? '')
  const unknown = wanted.find(name => !ALL.includes(name))
  if (unknown !== undefined)
    throw new Error(`there is no module "${unknown}"; give --modules all, none or some of ${ALL.join(', ')}`)
  const isIn = (name: string): boolean => (wanted as readonly string[]).includes(name)
  const left = MODULES.filter(name => !isIn(name)).map(name => `no_${name}`)
  return { names: ALL.filter(isIn), conditions: [...left, ...OPT_IN.filter(isIn)] }
}

function namesIn(given: string): readonly string[] {
  if (given === 'all') return ALL
  return given === 'none' ? [] : given.split(',')
}
