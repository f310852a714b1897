/** Stands where payments were left out of the build. */
export const module = undefined
