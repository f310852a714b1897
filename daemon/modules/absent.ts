/** Stands where a module was left out of the build. */
import type { Module } from './provider.ts'

export const module: Module | undefined = undefined
