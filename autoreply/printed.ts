/** What stands in the output of a coding agent. */

export function lastJsonObject(stdout: string): Record<string, unknown> | undefined {
  const text = stdout.trim()
  for (let start = text.lastIndexOf('\n{'); ; start = text.lastIndexOf('\n{', start - 1)) {
    const candidate = start < 0 ? text.slice(text.indexOf('{')) : text.slice(start + 1)
    try {
      return JSON.parse(candidate) as Record<string, unknown>
    } catch {
      if (start < 0) return undefined
    }
  }
}

export function jsonLines(stdout: string): Record<string, unknown>[] {
  return stdout.split('\n').flatMap(line => {
    try {
      const value = JSON.parse(line) as unknown
      return value !== null && typeof value === 'object' ? [value as Record<string, unknown>] : []
    } catch {
      return []
    }
  })
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export function member(value: unknown, ...names: string[]): unknown {
  let found = value
  for (const name of names) found = (found as Record<string, unknown> | undefined)?.[name]
  return found
}
