/** For tests: the package svc-hub as it would be installed, and the packages that it brings along by the lock file. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = new URL('../..', import.meta.url).pathname

type Locked = {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  dev?: boolean
}

/** Places in node_modules of everything that installing svc-hub installs, direct ones first. */
export function dependencyClosure(): { direct: string[]; all: string[] } {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const manifest = JSON.parse(readFileSync(join(root, 'hub', 'package.json'), 'utf8')) as Locked
  const names = (of: Locked): string[] => Object.keys({ ...of.dependencies, ...of.optionalDependencies })
  const placeOf = (name: string, from: string): string => {
    for (let at = from; ; at = dirname(at)) {
      const place = join(at === '.' ? '' : at, 'node_modules', name)
      if (place in lock.packages) return place
      if (at === '.' || at === '') throw new Error(`the lock file has no ${name} for ${from}`)
    }
  }
  const direct = names(manifest).map(name => placeOf(name, 'hub'))
  const all = new Set<string>()
  const visit = (place: string): void => {
    if (all.has(place)) return
    all.add(place)
    for (const name of names(lock.packages[place] ?? {})) visit(placeOf(name, place))
  }
  for (const place of direct) visit(place)
  return { direct, all: [...all] }
}

/** Packs svc-hub and unpacks it with its packages below `folder`; returns the path of its launcher. */
export function installPacked(folder: string): string {
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: join(root, 'hub'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  const home = join(folder, 'node_modules', 'svc-hub')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', home, '--strip-components=1'])
  for (const place of dependencyClosure().all)
    cpSync(join(root, place), join(folder, place), { recursive: true })
  return join(home, 'bin', 'svc-hub.js')
}
