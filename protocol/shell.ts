/** What people copy into a shell: words, the form in which a program is called here, and its commands in our texts. */

/** Text as one word of a command line. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** What of the file system decides; `node:fs` is one. */
export type Disk = {
  realpathSync(path: string): string
  accessSync(path: string, mode: number): void
  readonly constants: { readonly X_OK: number }
}

/** How the running program was called. */
export type Started = {
  /** Name of the command. */
  readonly name: string
  /** File that starts it, as a package installs it. */
  readonly launcher: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

const LINKS = 'node_modules/.bin'

/**
 * How the reader's shell, in this folder, calls the program that runs: by its name where the PATH leads to it, through
 * npx where the packages of the folder do, else by its absolute path. Sources that nobody installed have their name alone.
 */
export function callForm({ name, launcher, cwd, env }: Started, disk: Disk): string {
  const own = realPath(launcher, disk)
  if (own === undefined) return name
  const isOwn = (path: string | undefined) => path !== undefined && realPath(path, disk) === own
  const isThere = (path: string) => isExecutable(path, disk)
  if (
    isOwn(
      pathFolders(env)
        .map(folder => `${folder}/${name}`)
        .find(isThere),
    )
  )
    return name
  if (
    isOwn(
      foldersUp(cwd)
        .map(folder => `${folder}/${LINKS}/${name}`)
        .find(isThere),
    )
  )
    return `npx ${name}`
  return isExecutable(launcher, disk) ? shellWord(launcher) : `node ${shellWord(launcher)}`
}

/** The folders of the PATH; npm puts links before it that the shell of its user does not have. */
function pathFolders(env: Started['env']): string[] {
  const isNpm = env['npm_execpath'] !== undefined || env['npm_lifecycle_event'] !== undefined
  return (env['PATH'] ?? '')
    .split(':')
    .filter(folder => folder.startsWith('/') && !(isNpm && folder.endsWith(`/${LINKS}`)))
}

function foldersUp(cwd: string): string[] {
  const parts = cwd.split('/')
  return parts.map((_, count) => parts.slice(0, parts.length - count).join('/'))
}

function realPath(path: string, disk: Disk): string | undefined {
  try {
    return disk.realpathSync(path)
  } catch {
    return undefined
  }
}

function isExecutable(path: string, disk: Disk): boolean {
  try {
    disk.accessSync(path, disk.constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether a line of a next step is a command of ours, alone or with settings of a shell before it. */
export const isCommandLine = (line: string): boolean =>
  /^(?:\w+=(?:'[^']*'|[^\s'])+ )*svc(?:-hub)? [a-z<-]/.test(line)

/** A command that a text names: the words behind the program's name, and whether settings of a shell stand before it. */
export type Named = { readonly words: readonly string[]; readonly isPlaced: boolean }

/**
 * A text of ours in which every command of a program stands as it is called here, also where it was written for another
 * reader before, as in the log that is quoted of a process started elsewhere. `formOf` gives that form, or nothing where
 * the words are no command.
 */
export function withCommands(
  text: string,
  name: string,
  formOf: (named: Named) => string | undefined,
): string {
  const call = `(?:npx )*${name}`
  const named = new RegExp(
    `(?<![\\w./-])(\\w+=(?:'[^']*'|\\S)+ |)${call}((?: (?!${call} )[a-z<-][\\w<>-]*)+)`,
    'g',
  )
  return text.replace(named, (whole, settings: string, said: string) => {
    const form = formOf({ words: said.trim().split(' '), isPlaced: settings !== '' })
    return form === undefined ? whole : `${settings}${form}${said}`
  })
}

/** The one of these that somebody probably meant, where one is near enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map(one => ({ one, distance: editDistance(word, one) }))
    .sort((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3))
    ? best.one
    : undefined
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
