/** Stands where the task board was left out of the build. */
import type { BoardModule } from './tasks.ts'

export const module: BoardModule | undefined = undefined
