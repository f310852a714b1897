/** Programs as the system finds them, and command lines as words. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { BackendFailed } from './backend.ts'

/** The file that a command line which starts with this word runs; undefined where there is none. */
export function findProgram(word: string, path: string): string | undefined {
  const places = word.includes('/') ? [word] : path.split(delimiter).map(folder => join(folder, word))
  return places.find(place => {
    try {
      accessSync(place, constants.X_OK)
      return statSync(place).isFile()
    } catch {
      return false
    }
  })
}

/** Whether a word of a command line looks like the name of a file, and like no flag. */
export const isFileName = (word: string): boolean => !word.startsWith('-') && /[./]/.test(word)

/** A character behind a backslash, a quoted text, space, anything else, or a quote that nothing ends. */
const PIECE = /\\([\s\S])|"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|(\s+)|([^\\"'\s]+)|([\\"'])/g

/** Splits a command line into words, with quotes and backslashes but nothing else of a shell. */
export function splitWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  for (const [, escaped, double, single, space, plain, open] of line.matchAll(PIECE)) {
    if (open === '"' || open === "'") throw new BackendFailed(`the command has an open ${open}`)
    if (space !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      const quoted = double?.replace(/\\([\s\S])/g, '$1')
      word = `${word ?? ''}${escaped ?? quoted ?? single ?? plain ?? open}`
    }
  }
  return word === undefined ? words : [...words, word]
}
